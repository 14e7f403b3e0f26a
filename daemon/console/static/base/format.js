// Numbers and times for people.

const MINUTES = { hour: "2-digit", minute: "2-digit", hourCycle: "h23" };
const CLOCK = new Intl.DateTimeFormat(undefined, MINUTES);
const SECONDS = new Intl.DateTimeFormat(undefined, { ...MINUTES, second: "2-digit" });
const DAY = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const FULL = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });
const COUNT = new Intl.NumberFormat("en-US");
const COUNT_CENTS = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const date = (seconds) => new Date(Number(seconds) * 1000);

export const clock = (seconds) => CLOCK.format(date(seconds));
export const clockSeconds = (seconds) => SECONDS.format(date(seconds));
export const day = (seconds) => DAY.format(date(seconds));
export const full = (seconds) => FULL.format(date(seconds));
export const count = (number) => COUNT.format(number ?? 0);

/** The size of a file. */
export function bytes(number) {
  if (number < 1000) return `${number} ${number === 1 ? "byte" : "bytes"}`;
  if (number < 999_500) return `${Math.round(number / 1000)} kB`;
  return `${(number / 1_000_000).toFixed(1)} MB`;
}

/** `1 round`, `2 rounds` */
export const several = (number, what) => `${count(number)} ${what}${number === 1 ? "" : "s"}`;

/** Dollars with as many digits as a small sum needs. */
export function money(dollars) {
  const sum = Number(dollars ?? 0);
  if (sum === 0) return "$0";
  if (sum < 0.0001) return "<$0.0001";
  if (sum < 0.1) return `$${sum.toFixed(4)}`;
  return `$${sum.toFixed(2)}`;
}

/** What something cost; where that was nothing since the model is a script, the price of the same with Claude. */
export const price = ({ cost, worth }, told = money) => (cost > 0 || !worth ? told(cost) : `simulated ${told(worth)}`);

/** Dollars in a list, where a cent is little. */
export const cents = (dollars) => (dollars >= 0.01 ? `$${COUNT_CENTS.format(dollars)}` : money(dollars));

export function seconds(number) {
  if (number === null || number === undefined) return "–";
  return number < 1 ? `${Math.round(number * 1000)} ms` : `${number.toFixed(1)} s`;
}

const WEEKDAY = new Intl.DateTimeFormat(undefined, { weekday: "short" });
const DATE = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const WEEK = 6 * 86_400;

/** When something was, as short as it can be told: `12:04`, `Mon`, `3 Nov`. */
export function when(at) {
  return isToday(at) ? clock(at) : (isLate(at) ? WEEKDAY : DATE).format(date(at));
}

/** When something was, to the second: `12:04:31`, and of another day `Mon 12:04:31`, `3 Nov 12:04:31`. */
export const whenExactly = (at) => (isToday(at) ? clockSeconds(at) : `${when(at)} ${clockSeconds(at)}`);

const isLate = (at) => Date.now() / 1000 - at < WEEK;
const isToday = (at) => isLate(at) && day(at) === day(Date.now() / 1000);

/** How long ago it was: `4 minutes`. */
export function since(at) {
  const seconds = Math.max(0, Date.now() / 1000 - at);
  if (seconds < 90) return several(Math.round(seconds), "second");
  if (seconds < 5400) return several(Math.round(seconds / 60), "minute");
  if (seconds < 129_600) return several(Math.round(seconds / 3600), "hour");
  return several(Math.round(seconds / 86_400), "day");
}
