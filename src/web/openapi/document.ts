import type { RegisteredRoute } from './registered-routes';
import type { JsonSchema } from '../../kernel';
import { schemaOfForm } from './schema-of-form';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly schema: JsonSchema;
}

export interface Media {
  readonly schema?: JsonSchema;
  readonly example?: unknown;
}

export interface OpenApiResponse {
  readonly $ref?: string;
  readonly description?: string;
  readonly headers?: Readonly<Record<string, { readonly $ref: string } | { readonly schema: JsonSchema }>>;
  readonly content?: Readonly<Record<string, Media>>;
}

export interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Media>> };
  readonly responses: Readonly<Record<string, OpenApiResponse>>;
}

export interface OpenApiDocument {
  readonly openapi: '3.1.0';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Readonly<Record<string, object>>;
}

/** Parts of an operation that cannot be derived from its route. */
export type OperationNotes = Partial<OpenApiOperation>;

export interface DocumentInput {
  readonly info: OpenApiDocument['info'];
  readonly serverUrl: string;
  readonly routes: readonly RegisteredRoute[];
  readonly notesOf: (route: RegisteredRoute) => OperationNotes;
  readonly components: OpenApiDocument['components'];
  readonly tagOrder?: readonly string[];
}

export function openApiDocument({
  info,
  serverUrl,
  routes,
  notesOf,
  components,
  tagOrder = [],
}: DocumentInput): OpenApiDocument {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  const ids = new Set<string>();
  for (const route of routes) {
    const operation = operationOf(route, notesOf(route));
    if (ids.has(operation.operationId)) throw new Error(`two operations are called ${operation.operationId}`);
    ids.add(operation.operationId);
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation;
  }
  const used = new Set(
    Object.values(paths).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags)),
  );
  const tags = new Set([...tagOrder.filter((name) => used.has(name)), ...used]);
  return {
    openapi: '3.1.0',
    info,
    servers: [{ url: serverUrl }],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: { ...components, securitySchemes },
  };
}

const securitySchemes = {
  signature: {
    type: 'apiKey',
    in: 'header',
    name: 'stripe-signature',
    description: 'The signature of the payment processor over the body.',
  },
  bearer: { type: 'http', scheme: 'bearer', description: 'A client key.' },
  apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key', description: 'The same key in another header.' },
  rootKey: { type: 'http', scheme: 'bearer', description: 'The root admin key.' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: '__Host-svc_session',
    description: 'The session of a person who signed in; svc_session on plain http.',
  },
};

function operationOf(route: RegisteredRoute, notes: OperationNotes): OpenApiOperation {
  const { forms, method } = route;
  const parameters = [...parametersOf(route), ...(notes.parameters ?? [])];
  const body =
    method === 'GET' || forms.body === undefined ? undefined : { required: true, content: contentOf(route) };
  return {
    operationId: operationIdOf(route),
    summary: summaryOf(route),
    tags: [tagOf(route)],
    security: securityOf(route),
    ...(body === undefined ? {} : { requestBody: body }),
    ...notes,
    ...(parameters.length === 0 ? {} : { parameters }),
    responses: {
      default: { $ref: '#/components/responses/Error' },
      ...(notes.responses ?? responsesOf(route)),
    },
  };
}

function contentOf({ forms, pageForm }: RegisteredRoute): Record<string, Media> {
  const schema = schemaOfForm(forms.body ?? {});
  const pageSchema = pageForm === undefined ? schema : schemaOfForm(pageForm);
  return { 'application/json': { schema }, 'application/x-www-form-urlencoded': { schema: pageSchema } };
}

function parametersOf({ path, forms, single }: RegisteredRoute): Parameter[] {
  const ofPath = forms.param === undefined ? {} : (schemaOfForm(forms.param).properties ?? {});
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']): Parameter => ({
    name,
    in: 'path',
    required: true,
    schema: single.param.get(name)?.schema ?? ofPath[name] ?? { type: 'string' },
  }));
  const query = forms.query === undefined ? {} : schemaOfForm(forms.query);
  const inQuery = Object.entries(query.properties ?? {}).map(([name, schema]): Parameter => ({
    name,
    in: 'query',
    required: query.required?.includes(name) ?? false,
    schema,
  }));
  const singleQuery = [...single.query].map(([name, { schema, isRequired }]): Parameter => ({
    name,
    in: 'query',
    required: isRequired,
    schema,
  }));
  return [...inPath, ...inQuery, ...singleQuery];
}

const contentTypes = { page: 'text/html', table: 'text/csv', data: 'application/json' } as const;

const redirect: OpenApiResponse = {
  description: 'A redirect.',
  headers: { Location: { schema: { type: 'string', format: 'uri-reference' } } },
};

function responsesOf(route: RegisteredRoute): OpenApiOperation['responses'] {
  const { method, status, access, responds } = route;
  const redirectsToSignIn = method === 'GET' && (access.kind === 'session' || access.kind === 'role');
  return {
    [status]: responseOf(route),
    ...(redirectsToSignIn ? { 303: redirect } : {}),
    ...(responds.redirect === undefined ? {} : { [responds.redirect]: redirect }),
  };
}

function responseOf({
  method,
  answer,
  hasData,
  mediaType,
  access,
  responds,
}: RegisteredRoute): OpenApiResponse {
  if (answer === 'redirect') return redirect;
  const type = mediaType ?? contentTypes[answer];
  const schema: JsonSchema = { type: type === 'application/json' ? 'object' : 'string' };
  // A browser that submits a form gets a page if the result cannot wait for a redirect.
  const hasPage = answer === 'data' && method !== 'GET' && access.kind !== 'signed';
  return {
    description: answer === 'page' ? 'The page.' : answer === 'table' ? 'A file of rows.' : 'Done.',
    content: {
      [type]: { schema },
      ...(hasData ? { 'application/json': { schema: { type: 'object' } } } : {}),
      ...(hasPage ? { 'text/html': { schema: { type: 'string' } } } : {}),
      ...Object.fromEntries(
        Object.entries(responds.content ?? {}).map(([name, described]) => [name, { schema: described }]),
      ),
    },
  };
}

/** Method and path; stable as long as the address is. */
function operationIdOf({ method, path }: RegisteredRoute): string {
  const segments = path.split(/[^a-zA-Z0-9]+/).filter((word) => word !== '');
  const name = segments.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  return method.toLowerCase() + (name === '' ? 'Home' : name);
}

const verbs: Readonly<Record<string, string>> = {
  POST: 'Change',
  PATCH: 'Change',
  PUT: 'Change',
  DELETE: 'Delete',
};
const nouns = { page: 'Page', table: 'Export', redirect: 'Moved address', data: 'Data' } as const;

function summaryOf({ method, path, answer }: RegisteredRoute): string {
  const subject =
    path
      .replaceAll(/[{}]/g, '')
      .replaceAll(/[/_-]+/g, ' ')
      .trim() || 'start page';
  return `${verbs[method] ?? nouns[answer]}: ${subject}`;
}

function tagOf({ path }: RegisteredRoute): string {
  const [first = '', second = ''] = path.split('/').slice(1);
  if (path.startsWith('/dashboard/admin')) return 'administration';
  if (first === 'x' || second === 'x') return 'extensions';
  if (first === 'api') return second === '' ? 'api' : second.replaceAll(/[{}]/g, '');
  return ['dashboard', 'auth', 'account', 'legal', 'invite', 'dev'].includes(first) ? first : 'public';
}

function securityOf({ access }: RegisteredRoute): OpenApiOperation['security'] {
  switch (access.kind) {
    case 'anyone':
      return [];
    case 'key':
      return access.header === 'either' ? [{ bearer: [] }, { apiKey: [] }] : [{ bearer: [] }];
    case 'root':
      return [{ rootKey: [] }];
    case 'signed':
      return [{ signature: [] }];
    case 'session':
    case 'role':
      return [{ session: [] }];
  }
}
