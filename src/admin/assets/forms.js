/**
 * The forms of the page: every write carries the session's token, and what is refused is shown at
 * the fields that it is about. What was typed stays, whatever is answered.
 */
(() => {
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const tokenOf = (page) => page.querySelector('meta[name="write-token"]')?.content ?? '';
  let token = tokenOf(document);
  let isSignedOut = false;

  document.addEventListener('htmx:config:request', (event) => {
    const { detail, target } = event;
    // A key that is told once goes only by its own link: not by the rest of a double click.
    const toldOnce = target.querySelector?.('.fresh [data-copy]');
    if (toldOnce) {
      toldOnce.focus();
      return event.preventDefault();
    }
    detail.ctx.request.headers['X-Nthbouncer-Write-Token'] = token;
    if (target.matches?.('form')) all('.at-field', target).forEach(unmark);
  });

  document.addEventListener('htmx:after:swap', ({ target }) => {
    const form = target.closest?.('form') ?? target;
    const told = form.querySelector?.('[data-issues], [data-signed-out]');
    if (!told) return focusAgain(form);
    if ('signedOut' in told.dataset) isSignedOut = true;
    const marked = JSON.parse(told.dataset.issues ?? '[]').map((issue) => mark(form, issue));
    marked.find((field) => field !== undefined)?.focus();
  });

  /** A field that was drawn anew has lost the focus; it stays in the form. */
  function focusAgain(form) {
    if (document.activeElement !== document.body) return;
    form.querySelector?.('[type="submit"]')?.focus({ preventScroll: true });
  }

  document.addEventListener('htmx:error', ({ target }) => {
    const told = target.closest?.('form')?.querySelector('.told');
    if (!told) return;
    told.textContent = 'The server gave no answer, so it may be done or not. Nothing that was ' +
      'typed is lost: try again.';
  });

  /** Who signed in again elsewhere goes on here, with what was typed. */
  addEventListener('focus', async () => {
    if (!isSignedOut) return;
    const answer = await fetch('/admin');
    const fresh = tokenOf(new DOMParser().parseFromString(await answer.text(), 'text/html'));
    if (fresh === '') return;
    token = fresh;
    isSignedOut = false;
  });

  /** The field whose path is the issue's, or is what the issue's path lies below. */
  function fieldOf(form, path) {
    const fields = all('[name]:not([type="hidden"])', form);
    for (let steps = path.split('.'); steps.length > 0; steps = steps.slice(0, -1)) {
      const found = fields.find(({ name }) => name.split(':')[0] === steps.join('.'));
      if (found) return found;
    }
  }

  function mark(form, { path, reason }) {
    const field = fieldOf(form, path);
    if (!field) return;
    const note = document.createElement('small');
    note.className = 'at-field problem';
    note.id = `at-${field.name.replace(/\W/g, '-')}`;
    note.textContent = reason;
    note.field = field;
    note.described = field.getAttribute('aria-describedby') ?? '';
    (field.closest('label') ?? field).after(note);
    field.setAttribute('aria-invalid', 'true');
    field.setAttribute('aria-describedby', `${note.id} ${note.described}`.trim());
    return field;
  }

  function unmark(note) {
    note.field.removeAttribute('aria-invalid');
    if (note.described === '') note.field.removeAttribute('aria-describedby');
    else note.field.setAttribute('aria-describedby', note.described);
    note.remove();
  }
})();
