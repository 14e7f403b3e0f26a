// What Slack calls the usual emoji. A name that does not stand here is shown as it is written.

const NAMED = `
grinning 😀  smiley 😃  smile 😄  grin 😁  laughing 😆  satisfied 😆  sweat_smile 😅
rolling_on_the_floor_laughing 🤣  joy 😂  slightly_smiling_face 🙂  upside_down_face 🙃  wink 😉  blush 😊
innocent 😇  heart_eyes 😍  star-struck 🤩  kissing_heart 😘  yum 😋  stuck_out_tongue 😛
stuck_out_tongue_winking_eye 😜  hugging_face 🤗  thinking_face 🤔  zipper_mouth_face 🤐  neutral_face 😐
expressionless 😑  no_mouth 😶  smirk 😏  unamused 😒  face_with_rolling_eyes 🙄  grimacing 😬  relieved 😌
pensive 😔  sleepy 😪  sleeping 😴  mask 😷  exploding_head 🤯  partying_face 🥳  sunglasses 😎  nerd_face 🤓
confused 😕  worried 😟  slightly_frowning_face 🙁  open_mouth 😮  astonished 😲  flushed 😳  pleading_face 🥺
fearful 😨  cold_sweat 😰  cry 😢  sob 😭  scream 😱  disappointed 😞  sweat 😓  weary 😩  tired_face 😫  triumph 😤
rage 😡  angry 😠  smiling_imp 😈  skull 💀  ghost 👻  alien 👽  robot_face 🤖  see_no_evil 🙈  hear_no_evil 🙉
speak_no_evil 🙊
wave 👋  raised_hand ✋  ok_hand 👌  v ✌️  crossed_fingers 🤞  point_left 👈  point_right 👉  point_up_2 👆
point_down 👇  point_up ☝️  +1 👍  thumbsup 👍  -1 👎  thumbsdown 👎  fist ✊  facepunch 👊  clap 👏  raised_hands 🙌
open_hands 👐  handshake 🤝  pray 🙏  writing_hand ✍️  muscle 💪  eyes 👀  brain 🧠  bow 🙇  shrug 🤷  face_palm 🤦
raising_hand 🙋  busts_in_silhouette 👥  bust_in_silhouette 👤
heart ❤️  orange_heart 🧡  yellow_heart 💛  green_heart 💚  blue_heart 💙  purple_heart 💜  black_heart 🖤
broken_heart 💔  sparkling_heart 💖  100 💯  boom 💥  collision 💥  sweat_drops 💦  dash 💨  speech_balloon 💬
thought_balloon 💭  zzz 💤
dog 🐶  cat 🐱  fox_face 🦊  bear 🐻  panda_face 🐼  lion_face 🦁  pig 🐷  frog 🐸  monkey_face 🐵  chicken 🐔
penguin 🐧  bird 🐦  owl 🦉  unicorn_face 🦄  bee 🐝  bug 🐛  butterfly 🦋  snail 🐌  turtle 🐢  snake 🐍  octopus 🐙
whale 🐳  dolphin 🐬  fish 🐟  cherry_blossom 🌸  rose 🌹  sunflower 🌻  tulip 🌷  seedling 🌱  evergreen_tree 🌲
palm_tree 🌴  cactus 🌵  four_leaf_clover 🍀  mushroom 🍄  earth_africa 🌍  sunny ☀️  partly_sunny ⛅  cloud ☁️
rain_cloud 🌧️  umbrella ☂️  snowflake ❄️  zap ⚡  fire 🔥  rainbow 🌈  star ⭐  star2 🌟  sparkles ✨  moon 🌔
ocean 🌊
apple 🍎  lemon 🍋  banana 🍌  strawberry 🍓  pizza 🍕  hamburger 🍔  cake 🍰  birthday 🎂  cookie 🍪
chocolate_bar 🍫  popcorn 🍿  coffee ☕  tea 🍵  beer 🍺  beers 🍻  wine_glass 🍷  champagne 🍾  fork_and_knife 🍴
soccer ⚽  trophy 🏆  medal 🏅  dart 🎯  video_game 🎮  game_die 🎲  art 🎨  musical_note 🎵  tada 🎉
confetti_ball 🎊  balloon 🎈  gift 🎁  christmas_tree 🎄  jack_o_lantern 🎃
car 🚗  bus 🚌  bike 🚲  airplane ✈️  rocket 🚀  ship 🚢  train 🚆  construction 🚧  house 🏠  office 🏢  hospital 🏥
school 🏫  tent ⛺
watch ⌚  iphone 📱  computer 💻  keyboard ⌨️  printer 🖨️  camera 📷  tv 📺  bulb 💡  battery 🔋  electric_plug 🔌
moneybag 💰  dollar 💵  gem 💎  hammer 🔨  wrench 🔧  hammer_and_wrench 🛠️  gear ⚙️  link 🔗  paperclip 📎
scissors ✂️  lock 🔒  unlock 🔓  key 🔑  mag 🔍  microscope 🔬  telescope 🔭  pill 💊  email 📧  envelope ✉️
inbox_tray 📥  outbox_tray 📤  package 📦  mailbox 📫  memo 📝  pencil 📝  page_facing_up 📄  bar_chart 📊
chart_with_upwards_trend 📈  chart_with_downwards_trend 📉  calendar 📆  date 📅  clipboard 📋  pushpin 📌
round_pushpin 📍  file_folder 📁  open_file_folder 📂  card_index 📇  books 📚  book 📖  bookmark 🔖  label 🏷️
newspaper 📰  bell 🔔  no_bell 🔕  loudspeaker 📢  mega 📣  hourglass ⌛  hourglass_flowing_sand ⏳  alarm_clock ⏰
stopwatch ⏱️  wastebasket 🗑️
white_check_mark ✅  heavy_check_mark ✔️  ballot_box_with_check ☑️  x ❌  heavy_multiplication_x ✖️
heavy_plus_sign ➕  heavy_minus_sign ➖  question ❓  exclamation ❗  bangbang ‼️  warning ⚠️  no_entry ⛔
no_entry_sign 🚫  octagonal_sign 🛑  rotating_light 🚨  triangular_flag_on_post 🚩  checkered_flag 🏁
white_circle ⚪  black_circle ⚫  red_circle 🔴  large_orange_circle 🟠  large_yellow_circle 🟡
large_green_circle 🟢  large_blue_circle 🔵  arrow_right ➡️  arrow_left ⬅️  arrow_up ⬆️  arrow_down ⬇️
arrows_counterclockwise 🔄  recycle ♻️  information_source ℹ️  new 🆕  ok 🆗  sos 🆘  one 1️⃣  two 2️⃣
three 3️⃣  four 4️⃣  five 5️⃣  keycap_ten 🔟  hash #️⃣  infinity ♾️
skin-tone-2 🏻  skin-tone-3 🏼  skin-tone-4 🏽  skin-tone-5 🏾  skin-tone-6 🏿
`;

const words = NAMED.trim().split(/\s+/);
const pairs = Array.from({ length: words.length / 2 }, (_, index) => words.slice(2 * index, 2 * index + 2));

const EMOJI = new Map(pairs);

/** The one of this name; `:name:` where it is not known. */
export const emoji = (name) => EMOJI.get(name) ?? `:${name}:`;
