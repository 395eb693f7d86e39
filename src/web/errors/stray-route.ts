import { type Fault, fault } from '../../kernel';
import { isGatewayPath, type RouteTable, type Settings } from '../../platform';
import { vendorRoutes } from '../../vendors';

type Routes = Pick<RouteTable<unknown>, 'added' | 'methodsOf'>;

const OPENAI_BASE = "OpenAI's clients take a base address that ends in /v1";
const ANTHROPIC_BASE = "Anthropic's take it without /v1";

/** Longer paths are refused without an explanation: the search for one grows with length and segments. */
const MAX_EXPLAINED_CHARACTERS = 200;
const MAX_EXPLAINED_SEGMENTS = 12;

const isExplainable = (path: string): boolean =>
  path.length <= MAX_EXPLAINED_CHARACTERS && path.split('/').length - 1 <= MAX_EXPLAINED_SEGMENTS;

const offered = new WeakMap<Routes, string>();

/** The routes that models answer on, as a text. */
function offeredBy(routes: Routes): string {
  const known = offered.get(routes);
  if (known !== undefined) return known;
  const paths = routes.added.flatMap(([method, path]) =>
    method === 'POST' && isGatewayPath(path) && !/:|\/manage\//.test(path) ? [path] : [],
  );
  const text = [...new Set(paths)].sort().join(', ');
  offered.set(routes, text);
  return text;
}

const notFound = (message: string): Fault => fault('not_found', { message });

/** This mistake in the base address has led to the path; undefined when none is known. */
function misaddressed(path: string, isServed: (path: string) => boolean): string | undefined {
  if (path.startsWith('/v1/v1/') || path === '/v1/v1')
    return `The path begins with /v1 twice: ${OPENAI_BASE}, ${ANTHROPIC_BASE}.`;
  if (path.endsWith('/') && isServed(path.slice(0, -1))) return 'Leave out the slash at the end of the path.';
  if (isServed(`/v1${path}`)) return `The path lacks /v1: ${OPENAI_BASE}, ${ANTHROPIC_BASE}.`;
  const inner = path.slice(path.indexOf('/v1/', 1));
  if (path.indexOf('/v1/', 1) > 0 && isServed(inner))
    return `The base address has something before /v1 that is not served: the path is ${inner}.`;
  for (let at = path.indexOf('/', 4); at !== -1; at = path.indexOf('/', at + 1))
    if (isServed(path.slice(0, at)) && isServed(`/v1${path.slice(at)}`))
      return `The base address holds the route already: end it with /v1.`;
  return undefined;
}

/**
 * Refuses what was meant for the API: an unknown path, or a vendor's route whose path is served under other methods
 * only. Null for any other path of the service.
 */
export function strayRoute(method: string, path: string, routes: Routes): Fault | null {
  if (!isExplainable(path))
    return isGatewayPath(path) ? notFound('The path is longer than any that is served.') : null;
  const isServed = (one: string): boolean => routes.methodsOf(one).length > 0;
  const isOtherMethod = isServed(path);
  const mistake = isOtherMethod ? undefined : misaddressed(path, isServed);
  if (mistake !== undefined) return notFound(mistake);
  const known = vendorRoutes.find(
    (route) => route.path.test(path) && (route.method === null ? !isOtherMethod : route.method === method),
  );
  if (known === undefined && (isOtherMethod || !isGatewayPath(path))) return null;
  const where = `${method} ${path.slice(0, 100)}`;
  const instead = `Offered are ${offeredBy(routes)}, and GET /v1/models.`;
  if (known === undefined) return notFound(`There is no ${where}. ${instead}`);
  if (known.ended !== null) return notFound(`${where} was ended by its vendor. ${instead}`);
  return fault('not_implemented', { message: `${where} is not offered here. ${instead}` });
}

/** The refusal of a path below `/v1` on a node that serves the portal alone; null for any other path. */
export const servedElsewhere = (path: string, { gatewayUrl, baseUrl }: Settings): Fault | null =>
  isGatewayPath(path)
    ? notFound(`This node serves the portal alone; ${gatewayUrl ?? baseUrl} is where /v1 is reached.`)
    : null;
