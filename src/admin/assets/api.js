/**
 * Gives the API's reference the colours of the place, and its fields the names that a screen reader
 * tells, which its reader leaves out.
 */
(() => {
  const reader = document.querySelector('rapi-doc');
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const follow = () => {
    reader.setAttribute('theme', dark.matches ? 'dark' : 'light');
    reader.setAttribute('primary-color', dark.matches ? '#6db3ff' : '#0b5cad');
    reader.setAttribute('nav-bg-color', dark.matches ? '#23272f' : '#f3f4f6');
    reader.setAttribute('nav-text-color', dark.matches ? '#e6e9ee' : '#24292f');
  };
  dark.addEventListener('change', follow);
  follow();

  const nameOf = (field) =>
    field.dataset.pname || field.getAttribute('part')?.split(' ')[0] || field.tagName.toLowerCase();
  const watched = new WeakSet();
  const name = (root) => {
    for (const field of root.querySelectorAll('input, select, textarea, nav')) {
      if (!field.ariaLabel) field.ariaLabel = nameOf(field);
    }
    for (const { shadowRoot } of root.querySelectorAll('*')) if (shadowRoot) watch(shadowRoot);
  };
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    new MutationObserver(() => name(root)).observe(root, { childList: true, subtree: true });
    name(root);
  };
  customElements.whenDefined('rapi-doc').then(() => watch(reader.shadowRoot));
})();
