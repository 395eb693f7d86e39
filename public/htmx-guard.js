// Loaded before htmx, which acts only on elements with the mark of the session: markup that somebody else brought into a
// page cannot know it, and does nothing for the reader.
{
  const mark = document.head.querySelector('meta[name="host-mark"]').content;
  for (const type of ['htmx:before:init', 'htmx:before:on:init', 'htmx:before:request'])
    document.addEventListener(
      type,
      (event) => {
        if (event.target.dataset?.hostMark !== mark) event.preventDefault();
      },
      { capture: true },
    );
}
