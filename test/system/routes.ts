/** A route as the served description states it. */
export interface ServedRoute {
  readonly method: string;
  /** Path with parameters in braces. */
  readonly path: string;
  readonly access: 'anyone' | 'session' | 'signed' | 'key';
  readonly answer: 'page' | 'table' | 'redirect' | 'data';
  readonly body: RouteForm;
  readonly query: RouteForm;
}

/** Fields of a form by name, and the required ones. */
interface RouteForm {
  readonly fields: Readonly<Record<string, RouteField>>;
  readonly required: readonly string[];
}

interface RouteField {
  readonly enum?: readonly unknown[];
}

interface DescribedRoute {
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { name: string; in: string; required?: boolean; schema: RouteField }[];
  readonly requestBody?: {
    readonly content: Readonly<
      Record<string, { schema: { properties?: RouteForm['fields']; required?: string[] } }>
    >;
  };
  readonly responses: Readonly<Record<string, { content?: Readonly<Record<string, unknown>> }>>;
}

/** Returns every route in the descriptions that the artefact serves; developer pages are in neither. */
export async function servedRoutes(url: string): Promise<ServedRoute[]> {
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

async function documentAt(
  address: string,
): Promise<{ paths: Record<string, Record<string, DescribedRoute>> }> {
  const answer = await fetch(address, { signal: AbortSignal.timeout(30_000) });
  if (!answer.ok) throw new Error(`${address}: ${answer.status}`);
  return (await answer.json()) as { paths: Record<string, Record<string, DescribedRoute>> };
}

function routeOf(method: string, path: string, operation: DescribedRoute): ServedRoute {
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

function accessOf({ security }: DescribedRoute): ServedRoute['access'] {
  const schemes = security.flatMap((way) => Object.keys(way));
  if (schemes.length === 0) return 'anyone';
  if (schemes.includes('session')) return 'session';
  return schemes.includes('signature') ? 'signed' : 'key';
}

function answerOf(
  method: string,
  content: DescribedRoute['responses'][string]['content'],
): ServedRoute['answer'] {
  if (content === undefined) return 'redirect';
  if (content['text/html'] !== undefined && method === 'GET') return 'page';
  return content['text/csv'] === undefined ? 'data' : 'table';
}

/** Returns the addresses of all pages. */
export async function servedPages(url: string): Promise<string[]> {
  const routes = await servedRoutes(url);
  const pages = routes.filter(({ answer, method }) => answer === 'page' && method === 'GET');
  return [...new Set(pages.map(({ path }) => path))];
}
