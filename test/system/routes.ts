/** A route as the served description tells of it. */
export interface Route {
  readonly method: string;
  /** With parameters in braces. */
  readonly path: string;
  readonly access: 'anyone' | 'session' | 'signed' | 'key';
  readonly answer: 'page' | 'table' | 'redirect' | 'data';
  readonly body: Form;
  readonly query: Form;
}

/** The fields of a form, by name, and those that it needs. */
interface Form {
  readonly fields: Readonly<Record<string, Field>>;
  readonly required: readonly string[];
}

interface Field {
  readonly enum?: readonly unknown[];
}

interface Described {
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: Field }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { schema: { properties?: Form['fields']; required?: string[] } }>
    >;
  };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, unknown>> }>>;
}

/** Every route, from the descriptions that the artefact serves of itself; pages for developers are in neither. */
export async function servedRoutes(url: string): Promise<Route[]> {
  const documents = await Promise.all(
    ['/openapi.json', '/v1/openapi.json'].map((path) => documentAt(url + path)),
  );
  const routes = documents.flatMap(({ paths }) =>
    Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([verb, operation]) => routeOf(verb.toUpperCase(), path, operation)),
    ),
  );
  return routes.toSorted((one, other) =>
    `${one.path} ${one.method}` < `${other.path} ${other.method}` ? -1 : 1,
  );
}

async function documentAt(address: string): Promise<{ paths: Record<string, Record<string, Described>> }> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return (await answer.json()) as { paths: Record<string, Record<string, Described>> };
}

function routeOf(method: string, path: string, operation: Described): Route {
  const { parameters = [], requestBody, responses } = operation;
  const inQuery = parameters.filter((parameter) => parameter.in === 'query');
  const body = Object.values(requestBody?.content ?? {})[0]?.schema;
  return {
    method,
    path,
    access: accessOf(operation),
    answer: answerOf(method, responses['200']?.content),
    body: { fields: body?.properties ?? {}, required: body?.required ?? [] },
    query: {
      fields: Object.fromEntries(inQuery.map(({ name, schema }) => [name, schema])),
      required: inQuery.filter(({ required }) => required === true).map(({ name }) => name),
    },
  };
}

function accessOf({ security }: Described): Route['access'] {
  const ways = security.flatMap((way) => Object.keys(way));
  if (ways.length === 0) return 'anyone';
  if (ways.includes('session')) return 'session';
  return ways.includes('signature') ? 'signed' : 'key';
}

function answerOf(method: string, content: Described['responses'][string]['content']): Route['answer'] {
  if (content === undefined) return 'redirect';
  if (content['text/html'] !== undefined && method === 'GET') return 'page';
  return content['text/csv'] === undefined ? 'data' : 'table';
}

/** The addresses of all pages that may be looked at. */
export async function servedPages(url: string): Promise<string[]> {
  const routes = await servedRoutes(url);
  const pages = routes.filter(({ answer, method }) => answer === 'page' && method === 'GET');
  return [...new Set(pages.map(({ path }) => path))];
}
