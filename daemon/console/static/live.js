// Server-sent events while the page is in sight: a browser has only six connections to one server.

/** Milliseconds until it is asked again where the answer was no stream: a browser only tries again what broke off. */
const AGAIN = 3_000;

/** Follow `address()` until the returned function is called; `onUp(gap)`: something may have been missed;
    `onThought`: what is not recorded, from its beginning after each `onUp`. */
export function live(address, { onData, onUp, onDown = () => {}, onThought = () => {} }) {
  let source = null;
  let gap = false;
  let due = 0;

  function start() {
    source = new EventSource(address());
    source.onmessage = ({ data }) => onData(JSON.parse(data));
    source.addEventListener("thinking", ({ data }) => onThought(JSON.parse(data)));
    source.onerror = () => {
      gap = true;
      if (source.readyState === EventSource.CLOSED) {
        stop();
        due = setTimeout(look, AGAIN);
      }
      onDown();
    };
    source.onopen = () => {
      onUp(gap);
      gap = true;
    };
  }

  function stop() {
    clearTimeout(due);
    source?.close();
    source = null;
  }

  function look() {
    if (document.hidden) stop();
    else if (!source) start();
  }

  document.addEventListener("visibilitychange", look);
  look();
  return () => {
    document.removeEventListener("visibilitychange", look);
    stop();
  };
}
