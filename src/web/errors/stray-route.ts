import { type Fault, fault } from '../../kernel';
import { isGatewayPath, type RouteTable, type Settings } from '../../platform';
import { vendorRoutes } from '../../vendors';

type ServedRoutes = Pick<RouteTable<unknown>, 'added' | 'methodsOf'>;

const OPENAI_BASE = "OpenAI's clients take a base address that ends in /v1";
const ANTHROPIC_BASE = "Anthropic's take it without /v1";

/** Longer paths get no explanation: the search for one grows with length and segments. */
const MAX_EXPLAINED_CHARACTERS = 200;
const MAX_EXPLAINED_SEGMENTS = 12;

const isExplainable = (path: string): boolean =>
  path.length <= MAX_EXPLAINED_CHARACTERS && path.split('/').length - 1 <= MAX_EXPLAINED_SEGMENTS;

const offeredTexts = new WeakMap<ServedRoutes, string>();

function describeOfferedRoutes(routes: ServedRoutes): string {
  const cached = offeredTexts.get(routes);
  if (cached !== undefined) return cached;
  const paths = routes.added.flatMap(([method, path]) =>
    method === 'POST' && isGatewayPath(path) && !/:|\/manage\//.test(path) ? [path] : [],
  );
  const text = [...new Set(paths)].sort().join(', ');
  offeredTexts.set(routes, text);
  return text;
}

const notFound = (message: string): Fault => fault('not_found', { message });

function findBaseAddressMistake(path: string, isServed: (path: string) => boolean): string | undefined {
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
 * Fault for a path meant for the API: unknown, or a vendor's route that exists only under other methods. Null for any
 * other path.
 */
export function strayRoute(method: string, path: string, routes: ServedRoutes): Fault | null {
  if (!isExplainable(path))
    return isGatewayPath(path) ? notFound('The path is longer than any that is served.') : null;
  const isServed = (one: string): boolean => routes.methodsOf(one).length > 0;
  const isOtherMethod = isServed(path);
  const mistake = isOtherMethod ? undefined : findBaseAddressMistake(path, isServed);
  if (mistake !== undefined) return notFound(mistake);
  const vendorRoute = vendorRoutes.find(
    (route) => route.path.test(path) && (route.method === null ? !isOtherMethod : route.method === method),
  );
  if (vendorRoute === undefined && (isOtherMethod || !isGatewayPath(path))) return null;
  const requested = `${method} ${path.slice(0, 100)}`;
  const suggestion = `Offered are ${describeOfferedRoutes(routes)}, and GET /v1/models.`;
  if (vendorRoute === undefined) return notFound(`There is no ${requested}. ${suggestion}`);
  if (vendorRoute.ended !== null) return notFound(`${requested} was ended by its vendor. ${suggestion}`);
  return fault('not_implemented', { message: `${requested} is not offered here. ${suggestion}` });
}

/** Fault for a path below `/v1` on a portal-only node; null for any other path. */
export const portalOnlyFault = (path: string, { gatewayUrl, baseUrl }: Settings): Fault | null =>
  isGatewayPath(path)
    ? notFound(`This node serves the portal alone; ${gatewayUrl ?? baseUrl} is where /v1 is reached.`)
    : null;
