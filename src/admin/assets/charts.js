/**
 * A pool's charts: drawn from its history, and anew every 5 s while somebody looks.
 */
/* global uPlot */
(() => {
  const one = (selector, inside = document) => inside.querySelector(selector);
  const charts = one('[data-charts]');
  if (!charts) return;

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
    const axis = { stroke: ink, grid, ticks: grid, font: '12px system-ui, sans-serif' };
    const whole = [1, 2, 5].flatMap((each) => [0, 1, 2, 3, 4, 5, 6].map((n) => each * 10 ** n));
    plots.set(
      name,
      new uPlot(
        {
          width,
          height: 200,
          cursor: { drag: { x: false, y: false } },
          scales: { y: { range: (_, __, max) => [0, Math.max(1, max * 1.1)] } },
          axes: [
            { ...axis, space: spaceOf, values: (_, instants) => instants.map(timeOfDay) },
            { ...axis, size: 56, incrs: whole.sort((a, b) => a - b) },
          ],
          series: [
            { value: (_, instant) => instant === null ? '–' : timeOfDay(instant) },
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

  /** The least pixels between two instants; narrow charts name whole minutes alone. */
  const spaceOf = (_, __, ___, ____, width) => width < 500 ? 40 : 64;

  const timeOfDay = (seconds) =>
    new Date(seconds * 1000).toLocaleTimeString([], {
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      ...(seconds % 60 === 0 ? {} : { second: '2-digit' }),
    });

  const STEPS = { '5m': '5 s', '1h': 'minute', '24h': '15 min' };

  /** Of an idle pool nothing is noted: its limit is the next that was, and at last today's. */
  function withoutGaps(limits) {
    let next = Number(one('[data-live="pool"] [data-field="effectiveLimit"]').textContent);
    return limits.map((_, i) => next = limits[limits.length - 1 - i] ?? next).reverse();
  }

  async function draw(section) {
    const span = one('select', section).value;
    const path = `/admin/api/pools/${section.dataset.charts}/history?span=${span}`;
    const answer = await fetch(path).catch(() => null);
    if (!answer?.ok) return;
    const { at, inUse, limit, queued, granted, refused } = await answer.json();
    const seconds = at.map((ms) => ms / 1000);
    const limits = withoutGaps(limit);
    one('[data-step]', section).textContent = STEPS[span];
    plot('slots', one('[data-chart="slots"]', section), [seconds, inUse, limits, queued], [
      ['in use', '--blue'],
      ['limit', '--grey', 1, [6, 4]],
      ['queued', '--orange'],
    ]);
    plot('starts', one('[data-chart="starts"]', section), [seconds, granted, refused], [
      ['granted', '--green'],
      ['refused', '--red'],
    ]);
  }

  document.addEventListener('change', ({ target }) => {
    if (target.matches?.('[data-span]')) void draw(charts);
  });
  setInterval(() => {
    if (!document.hidden) void draw(charts);
  }, 5000);

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
})();
