/**
 * `GET /metrics`, in Prometheus's text form. All is read when it is asked for, so that what is
 * measured costs its callers no more than a few additions.
 */
import type { Context } from 'hono';
import { Counter, Gauge, type Metric, Registry } from 'prom-client';
import type { Histogram } from '../scheduler/histogram.ts';
import type { HistogramSample, Source } from './metric_sources.ts';
import { scrapeOf, SOURCES } from './metric_sources.ts';
import type { Route } from './route.ts';
import type { Server } from './server.ts';

export const metricRoutes: readonly Route[] = [
  { method: 'GET', path: '/metrics', access: 'metrics', answer: showMetrics },
];

async function showMetrics(context: Context, server: Server): Promise<Response> {
  const scrape = scrapeOf(server);
  const registry = new Registry();
  for (const source of SOURCES) {
    if (source.type === 'histogram') {
      registry.registerMetric(told(source, [...source.read(scrape)]));
      continue;
    }
    const options = {
      name: source.name,
      help: source.help,
      labelNames: source.labels ?? [],
      registers: [registry],
    };
    if (source.type === 'gauge') {
      const gauge = new Gauge(options);
      for (const [labels, value] of source.read(scrape)) gauge.set(labels, value);
    } else {
      const counter = new Counter(options);
      for (const [labels, value] of source.read(scrape)) counter.inc(labels, value);
    }
  }
  return context.body(await registry.metrics(), 200, {
    'content-type': registry.contentType,
    'cache-control': 'no-store',
  });
}

/** A histogram of ours, measured in ms, in the form that the registry prints, in seconds. */
function told({ name, help }: Source, samples: readonly HistogramSample[]): Metric {
  const values = samples.flatMap(([labels, histogram]) => valuesOf(name, labels, histogram));
  const get = () => Promise.resolve({ name, help, type: 'histogram', values });
  return { name, help, get } as unknown as Metric;
}

function valuesOf(name: string, labels: Readonly<Record<string, string>>, measured: Histogram) {
  let sum = 0;
  const buckets = measured.counts.map((count, at) => {
    const bound = measured.bounds[at];
    sum += count;
    const le = bound === undefined ? '+Inf' : String(bound / 1000);
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: sum };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: measured.sum / 1000 },
    { metricName: `${name}_count`, labels, value: measured.count },
  ];
}
