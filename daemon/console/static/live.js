// Server-sent events while the page is in sight: a browser has only six connections to one server.

/** Follow `address()` until the returned function is called; `onUp(again)` at each connection. */
export function live(address, { onData, onUp, onDown = () => {} }) {
  let source = null;
  let again = false;

  function start() {
    source = new EventSource(address());
    source.onmessage = ({ data }) => onData(JSON.parse(data));
    source.onerror = onDown;
    source.onopen = () => {
      onUp(again);
      again = true;
    };
  }

  function stop() {
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
