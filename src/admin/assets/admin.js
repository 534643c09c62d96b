/**
 * What the page does in the browser beyond htmx: live values, copying and the times of the place.
 * It puts text in as text alone. Forms are in forms.js, charts in charts.js.
 */
(() => {
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const duration = (ms) =>
    ms < 1000
      ? `${Math.round(ms)} ms`
      : ms < 120000
      ? `${Math.round(ms / 100) / 10} s`
      : `${Math.round(ms / 60000)} min`;
  const FORMS = {
    oldestWaitMs: (ms) => ms === 0 ? '–' : duration(ms),
    pausedUntil: (ms) => ms === null ? '' : [', until ', timeOf(ms)],
    rpm: (rpm) => rpm === null ? 'none' : String(rpm),
  };

  function localTimes(inside = document) {
    for (const time of all('time:not([title])', inside)) {
      time.replaceWith(timeOf(Date.parse(time.dateTime)));
    }
  }

  /** An instant by the clock of the place, which tells the UTC on hovering. */
  function timeOf(ms) {
    const time = document.createElement('time');
    time.dateTime = new Date(ms).toISOString();
    time.title = `${time.dateTime.slice(0, 19).replace('T', ' ')} UTC`;
    time.textContent = localTime(new Date(ms));
    return time;
  }

  const clock = new Intl.DateTimeFormat([], { timeStyle: 'medium' });
  const calendar = new Intl.DateTimeFormat([], { dateStyle: 'short', timeStyle: 'medium' });
  /** The date is told where it is not today's. */
  function localTime(instant) {
    const isToday = instant.toDateString() === new Date().toDateString();
    return (isToday ? clock : calendar).format(instant);
  }

  function show(view) {
    for (const place of all(`[data-pool="${CSS.escape(view.name)}"]`)) {
      for (const field of all('[data-field]', place)) {
        const value = view[field.dataset.field];
        const told = [FORMS[field.dataset.field]?.(value) ?? String(value)].flat();
        const text = told.map((piece) => piece.textContent ?? piece).join('');
        if (field.textContent !== text) field.replaceChildren(...told);
        if (field.dataset.field === 'state') field.className = `state ${view.state}`;
      }
      for (const piece of all('[data-while]', place)) {
        piece.hidden = piece.dataset.while !== view.state;
      }
    }
    latest.set(view.name, view);
  }

  /** What was told last of each pool that is shown. */
  const latest = new Map();

  /** The cells of a row that is followed, in the order of the table's heads. */
  function logCells(entry) {
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    const pre = document.createElement('pre');
    summary.textContent = entry.id;
    details.append(summary, pre);
    details.addEventListener('toggle', () => {
      pre.textContent = JSON.stringify(entry, null, 2);
    }, { once: true });
    return [
      timeOf(entry.at),
      entry.count === undefined ? entry.outcome : `${entry.outcome} × ${entry.count}`,
      cut(entry.reason),
      duration(entry.queuedMs),
      entry.slots,
      cut(keyNames.get(entry.keyId) ?? entry.keyId),
      cut(entry.holder),
      details,
    ];
  }

  const keyNames = new Map(
    all('.filters [name="keyId"] option').map(({ value, textContent }) => [value, textContent]),
  );

  function cut(text) {
    const made = document.createElement('span');
    made.className = 'cut';
    made.textContent = text ?? '–';
    if (text) made.title = text;
    return made;
  }

  /** Each cell tells its head, for the narrow screens on which it stands alone. */
  function logRow(body, heads, entry) {
    const row = body.insertRow(0);
    for (const [index, content] of logCells(entry).entries()) {
      const cell = row.insertCell();
      cell.dataset.head = heads[index].textContent;
      cell.className = heads[index].className;
      cell.append(content);
    }
  }

  /** The newest rows of an event that pass the filter: more than these nobody could follow. */
  function logRows(body, { entries, missed }) {
    const [outcome, keyId] = ['outcome', 'keyId'].map((name) => one(`.filters [name="${name}"]`));
    const wanted = entries.filter((entry) =>
      (outcome.value === '' || outcome.value === entry.outcome) &&
      (keyId.value === '' || keyId.value === entry.keyId)
    );
    const shown = wanted.slice(-ROWS_AN_EVENT);
    const heads = body.parentNode.tHead.rows[0].cells;
    for (const entry of shown) logRow(body, heads, entry);
    while (body.rows.length > ROWS_SHOWN) body.deleteRow(-1);
    if (shown.length > 0) {
      body.closest('.scroll').hidden = false;
      one('.empty')?.remove();
    }
    rowsLeftOut += missed + wanted.length - shown.length;
    if (rowsLeftOut === 0) return;
    one('[data-missed]').textContent =
      `${rowsLeftOut} rows came too fast to be shown; the export has them.`;
  }

  const ROWS_AN_EVENT = 20;
  const ROWS_SHOWN = 200;
  let rowsLeftOut = 0;

  /** Whether the list of pools would have it, drawn now: it was made since. */
  function isUnlisted({ name }) {
    const search = one('[data-live="pools"]')?.dataset.search;
    return search !== undefined && name.includes(search) &&
      !one(`[data-pool="${CSS.escape(name)}"]`);
  }

  async function listAnew() {
    if (!one('[data-live="pools"]')) return;
    const answer = await fetch(location.href).catch(() => null);
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = one('[data-live="pools"]', page);
    if (fresh) one('[data-live="pools"]').replaceWith(fresh);
  }

  function gone(names) {
    for (const name of names) latest.delete(name);
    if (!watched[0]) return void listAnew();
    events.close();
    watched = null;
    one('#stale').textContent = 'This pool was deleted: what is shown stays as it was.';
  }

  let events = null;
  let watched = null;
  let hasWatched = false;
  function watch(pool, withLog) {
    events?.close();
    watched = [pool, withLog];
    // A page that nobody sees costs nothing; what it missed is told when it is seen again.
    if (document.hidden) return;
    const query = new URLSearchParams(withLog ? {} : { log: '0' });
    if (pool) query.set('pool', pool);
    events = new EventSource(`/admin/api/events?${query}`);
    events.addEventListener('open', () => {
      one('#stale').textContent = '';
      // What was made and deleted meanwhile is not told.
      if (hasWatched) void listAnew();
      hasWatched = true;
    });
    events.addEventListener('error', ({ target }) => {
      one('#stale').textContent = target.readyState === EventSource.CLOSED
        ? 'Not live any more: what is shown stays as it is. Load the page again.'
        : 'The server does not answer: what is shown may be old. Trying again …';
    });
    events.addEventListener('pools', ({ data }) => {
      const { pools } = JSON.parse(data);
      pools.forEach(show);
      if (pools.some(isUnlisted)) void listAnew();
    });
    events.addEventListener('gone', ({ data }) => gone(JSON.parse(data).pools));
    events.addEventListener('log', ({ data }) => {
      const body = one('tbody[data-rows="Access log"]');
      if (body) logRows(body, JSON.parse(data));
    });
  }

  function sparkline(row, value, top) {
    const line = one('polyline', row);
    if (!line) return;
    const values = line.values ??= line.getAttribute('points').split(' ')
      .map((point) => (22 - Number(point.split(',')[1])) / 20 * Math.max(1, top));
    values.push(value);
    values.shift();
    const highest = Math.max(1, top, ...values);
    line.setAttribute(
      'points',
      values.map((each, i) =>
        `${Math.round(i / (values.length - 1) * 100)},${Math.round(22 - each / highest * 20)}`
      ).join(' '),
    );
  }

  document.addEventListener('click', async ({ target }) => {
    const button = target.closest?.('[data-copy]');
    if (!button) return;
    const source = document.getElementById(button.dataset.copy);
    let told = 'Copied.';
    try {
      await navigator.clipboard.writeText(source.textContent);
    } catch {
      getSelection().selectAllChildren(source);
      told = 'Selected: copy it with the keyboard.';
    }
    one('#live').textContent = told;
    button.classList.add('done');
    setTimeout(() => button.classList.remove('done'), 1500);
  });

  document.addEventListener('change', ({ target }) => {
    if (target.matches?.('[data-follow]')) watch(target.dataset.follow, target.checked);
  });

  document.addEventListener('htmx:after:swap', () => localTimes());

  document.addEventListener('visibilitychange', () => {
    if (watched) watch(...watched);
  });

  localTimes();
  const pool = one('[data-live="pool"]')?.dataset.pool;
  if (pool || one('[data-live="pools"]')) watch(pool, false);
  setInterval(() => {
    for (const row of all('tr[data-pool]')) {
      const view = latest.get(row.dataset.pool);
      if (view) sparkline(row, view.inUse, view.effectiveLimit);
    }
  }, 5000);
  setInterval(() => {
    for (const view of latest.values()) {
      if (view.queued > 0) show({ ...view, oldestWaitMs: view.oldestWaitMs + 1000 });
    }
  }, 1000);
})();
