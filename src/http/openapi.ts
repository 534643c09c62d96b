/**
 * The API document (OpenAPI 3.1), made of the rows and schemas once, and the page that shows it.
 */
import type { Context } from 'hono';
import { z } from 'zod';
import { ApiPage } from '../admin/api_page.tsx';
import { FaultAnswer } from '../answers.ts';
import { VERSION } from '../version.ts';
import type { Row } from './api_doc.ts';
import { ROWS } from './api_doc.ts';
import { LEASE_MS, OF_POOL, OF_REFUSAL, type OwnHeader } from './own_headers.ts';
import { pageAnswer } from './page_answer.ts';
import type { Route } from './route.ts';

export const documentRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/openapi.json',
    access: 'open',
    answer: (context) => context.json(apiDocument()),
  },
];

export const referenceRoutes: readonly Route[] = [
  { method: 'GET', path: '/docs', access: 'open', answer: showReference },
];

/**
 * The reader writes styles into the elements that it draws, a different one for each kind, and is a
 * heap of text without them; no hash or nonce covers those. Scripts stay the page's own files.
 */
const READER_STYLES = "style-src 'self' 'unsafe-inline'";

async function showReference(context: Context): Promise<Response> {
  const answer = await pageAnswer(context, ApiPage());
  const policy = answer.headers.get('content-security-policy') ?? '';
  answer.headers.set(
    'content-security-policy',
    policy.replace("style-src 'self'", READER_STYLES),
  );
  return answer;
}

type Json = Record<string, unknown>;

let made: Json | null = null;

export function apiDocument(): Json {
  made ??= makeDocument();
  return made;
}

function makeDocument(): Json {
  const paths: Record<string, Json> = {};
  for (const [route, row] of Object.entries(ROWS)) {
    const [method = '', path = ''] = route.split(' ');
    const operation = operationOf(row, path);
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'nthbouncer',
      version: VERSION,
      description: 'Slots, leases and queues for what an upstream API can take.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    paths,
    components: {
      schemas: { Fault: schemaOf(FaultAnswer) },
      headers: Object.fromEntries(TOLD.map((header) => [header.name, headerOf(header)])),
      securitySchemes: {
        poolKey: { type: 'apiKey', in: 'header', name: 'X-Nthpool-Key' },
        adminToken: { type: 'http', scheme: 'bearer' },
      },
    },
  };
}

const REFUSED = Object.values(OF_REFUSAL);
const TOLD = [...Object.values(OF_POOL), LEASE_MS, ...REFUSED];

/** Any of an object's fields, at any depth, or null for them; lists are replaced whole. */
function mergeOf(schema: Json): Json {
  const { required: _, default: __, properties, additionalProperties, anyOf, ...rest } = schema;
  const orNull = (one: Json) => ({ anyOf: [mergeOf(one), { type: 'null' }] });
  const each = (all: unknown) =>
    Object.fromEntries(
      Object.entries(all as Json).map(([name, one]) => [name, orNull(one as Json)]),
    );
  const isSchema = typeof additionalProperties === 'object';
  return {
    ...rest,
    ...(properties === undefined ? {} : { properties: each(properties) }),
    ...(additionalProperties === undefined ? {} : {
      additionalProperties: isSchema ? orNull(additionalProperties as Json) : additionalProperties,
    }),
    ...(anyOf === undefined ? {} : { anyOf: (anyOf as Json[]).map(mergeOf) }),
  };
}

function operationOf(row: Row, path: string): Json {
  const { tag, about, body, query, headers, status = 200, answer } = row;
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string' },
  }));
  const inHeader = (headers?.asked ?? []).map((header) => ({
    name: header.name,
    in: 'header',
    ...headerOf(header),
  }));
  const isOpen = tag === 'server' && path !== '/metrics' && !path.startsWith('/admin');
  const whole = body === undefined ? undefined : schemaOf(body);
  const schema = whole !== undefined && row.isMerge ? mergeOf(whole) : whole;
  return {
    tags: [tag],
    summary: about,
    security: isOpen ? [] : [tag === 'locks' ? { poolKey: [] } : { adminToken: [] }],
    parameters: [...inPath, ...parametersOf(query), ...inHeader],
    ...(schema === undefined ? {} : {
      requestBody: { content: { 'application/json': { schema } } },
    }),
    responses: {
      [status]: { description: about, ...headersOf(headers?.granted), ...contentOf(answer) },
      default: {
        description: 'A refusal: docs/errors.md lists the codes.',
        ...headersOf([...REFUSED, ...headers?.refused ?? []]),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Fault' } } },
      },
    },
  };
}

function contentOf(answer: Row['answer']): Json {
  if (answer === null) return {};
  if (typeof answer === 'string') return { content: { [answer]: { schema: {} } } };
  return { content: { 'application/json': { schema: schemaOf(answer) } } };
}

function headerOf({ about, type }: OwnHeader): Json {
  return { description: about, schema: { type } };
}

function headersOf(headers: readonly OwnHeader[] = []): Json {
  if (headers.length === 0) return {};
  const refs = headers.map(({ name }) => [name, { $ref: `#/components/headers/${name}` }]);
  return { headers: Object.fromEntries(refs) };
}

function parametersOf(query: z.ZodType | undefined): Json[] {
  if (query === undefined) return [];
  const { properties = {} } = schemaOf(query) as { properties?: Record<string, Json> };
  return Object.entries(properties).map(([name, schema]) => ({ name, in: 'query', schema }));
}

function schemaOf(schema: z.ZodType): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return json;
}
