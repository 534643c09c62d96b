/**
 * What the page does in the browser beyond htmx: live values, charts, copying and the times of the
 * place. It puts text in as text alone, and makes every write carry the session's token.
 */
/* global uPlot */
(() => {
  const one = (selector, inside = document) => inside.querySelector(selector);
  const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
  const token = one('meta[name="write-token"]')?.content ?? '';

  document.addEventListener('htmx:config:request', (event) => {
    event.detail.ctx.request.headers['X-Nthbouncer-Write-Token'] = token;
  });

  const duration = (ms) =>
    ms < 1000
      ? `${Math.round(ms)} ms`
      : ms < 120000
      ? `${Math.round(ms / 100) / 10} s`
      : `${Math.round(ms / 60000)} min`;
  const FORMS = {
    oldestWaitMs: duration,
    rpm: (rpm) => rpm === null ? '–' : String(Math.round(rpm)),
  };

  function localTimes(inside = document) {
    for (const time of all('time', inside)) {
      time.title = time.textContent;
      time.textContent = new Date(time.dateTime).toLocaleString();
    }
  }

  function show(view) {
    for (const place of all(`[data-pool="${CSS.escape(view.name)}"]`)) {
      for (const field of all('[data-field]', place)) {
        const value = view[field.dataset.field];
        const told = FORMS[field.dataset.field]?.(value) ?? String(value);
        if (field.textContent !== told) field.textContent = told;
        if (field.dataset.field === 'state') field.className = `state ${view.state}`;
      }
    }
    latest.set(view.name, view);
  }

  /** What was told last of each pool that is shown. */
  const latest = new Map();

  function cell(row, text, name = '') {
    const made = row.insertCell();
    made.textContent = text === null || text === undefined ? '–' : String(text);
    made.className = name;
    return made;
  }

  function logRow(body, entry) {
    const row = body.insertRow(0);
    cell(row, new Date(entry.at).toLocaleString());
    cell(row, entry.outcome);
    cell(row, entry.reason);
    cell(row, duration(entry.queuedMs), 'number');
    cell(row, entry.slots, 'number');
    cell(row, entry.keyId);
    cell(row, entry.holder);
    const details = document.createElement('details');
    const summary = document.createElement('summary');
    const pre = document.createElement('pre');
    summary.textContent = entry.id;
    details.append(summary, pre);
    details.addEventListener('toggle', () => {
      pre.textContent = JSON.stringify(entry, null, 2);
    }, { once: true });
    cell(row, '').replaceChildren(details);
  }

  /** The newest rows of an event: more than these nobody could follow. */
  function logRows(body, entries) {
    for (const entry of entries.slice(-ROWS_AN_EVENT)) logRow(body, entry);
    while (body.rows.length > ROWS_SHOWN) body.deleteRow(-1);
  }

  const ROWS_AN_EVENT = 20;
  const ROWS_SHOWN = 200;

  let events = null;
  let watched = null;
  function watch(pool, withLog) {
    events?.close();
    watched = [pool, withLog];
    // A page that nobody sees costs nothing; what it missed is told when it is seen again.
    if (document.hidden) return;
    const query = new URLSearchParams(withLog ? {} : { log: '0' });
    if (pool) query.set('pool', pool);
    events = new EventSource(`/admin/api/events?${query}`);
    events.addEventListener('pools', ({ data }) => JSON.parse(data).pools.forEach(show));
    events.addEventListener('gone', ({ data }) => {
      for (const name of JSON.parse(data).pools) {
        for (const row of all(`tr[data-pool="${CSS.escape(name)}"]`)) row.remove();
      }
    });
    events.addEventListener('log', ({ data }) => {
      const body = one('tbody[data-rows="Access log"]');
      if (body) logRows(body, JSON.parse(data).entries);
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

  const plots = new Map();
  function plot(name, place, columns, series) {
    const style = getComputedStyle(document.documentElement);
    const ink = style.getPropertyValue('--ink').trim();
    const grid = { stroke: style.getPropertyValue('--grid').trim(), width: 1 };
    const known = plots.get(name);
    const width = Math.max(240, place.clientWidth);
    if (known) {
      known.setSize({ width, height: 200 });
      return known.setData(columns);
    }
    const axis = { stroke: ink, grid, ticks: grid };
    plots.set(
      name,
      new uPlot(
        {
          width,
          height: 200,
          cursor: { drag: { x: false, y: false } },
          scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
          axes: [axis, { ...axis, size: 56 }],
          series: [
            {},
            ...series.map(([label, colour, width = 2, dash]) => ({
              label,
              stroke: style.getPropertyValue(colour).trim(),
              width,
              dash,
              points: { show: false },
            })),
          ],
        },
        columns,
        place,
      ),
    );
  }

  async function draw(section) {
    const span = one('select', section).value;
    const path = `/admin/api/pools/${section.dataset.charts}/history?span=${span}`;
    const answer = await fetch(path);
    if (!answer.ok) return;
    const { at, inUse, limit, queued, granted, refused } = await answer.json();
    const seconds = at.map((ms) => ms / 1000);
    plot('slots', one('[data-chart="slots"]', section), [seconds, inUse, limit, queued], [
      ['in use', '--blue'],
      ['limit', '--grey', 1, [6, 4]],
      ['queued', '--orange'],
    ]);
    plot('starts', one('[data-chart="starts"]', section), [seconds, granted, refused], [
      ['granted', '--green'],
      ['refused', '--red'],
    ]);
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
    if (target.matches?.('[data-span]')) void draw(target.closest('[data-charts]'));
  });

  document.addEventListener('visibilitychange', () => {
    if (watched) watch(...watched);
  });

  localTimes();
  const pool = one('[data-live="pool"]')?.dataset.pool;
  if (pool || one('[data-live="pools"]')) watch(pool, false);
  const charts = one('[data-charts]');
  if (charts) {
    void draw(charts);
    // Colours and widths are the canvas's own, so they do not follow by themselves.
    const anew = () => {
      for (const each of plots.values()) each.destroy();
      plots.clear();
      void draw(charts);
    };
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', anew);
    let width = innerWidth;
    addEventListener('resize', () => {
      if (innerWidth !== width) anew();
      width = innerWidth;
    });
  }
  setInterval(() => {
    if (charts && !document.hidden) void draw(charts);
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
