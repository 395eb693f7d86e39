export interface RouteMatch<Handler> {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
}

interface RouteNode<Handler> {
  readonly literals: Map<string, RouteNode<Handler>>;
  parameter: { readonly name: string; readonly node: RouteNode<Handler> } | null;
  readonly handlers: Map<string, Handler>;
}

const emptyParams: Readonly<Record<string, string>> = Object.freeze({});

const createNode = <Handler>(): RouteNode<Handler> => ({
  literals: new Map(),
  parameter: null,
  handlers: new Map(),
});

/**
 * Routes as a tree of path segments; a literal segment wins over a parameter. Paths without parameters, including
 * nearly all hot ones, are looked up in one map.
 */
export class RouteTable<Handler> {
  readonly added: (readonly [method: string, path: string])[] = [];
  private readonly root = createNode<Handler>();
  private readonly literalPaths = new Map<string, Map<string, Handler>>();

  add(method: string, path: string, handler: Handler): void {
    let node = this.root;
    const segments = path.split('/').slice(1);
    for (const segment of segments) {
      node = segment.startsWith(':')
        ? this.parameterBelow(node, segment.slice(1))
        : literalBelow(node, segment);
    }
    node.handlers.set(method, handler);
    this.added.push([method, path]);
    if (!segments.some((segment) => segment.startsWith(':'))) this.literalPaths.set(path, node.handlers);
  }

  find(method: string, path: string): RouteMatch<Handler> | null {
    const direct = this.literalPaths.get(path)?.get(method);
    if (direct !== undefined) return { handler: direct, params: emptyParams };
    const params: Record<string, string> = {};
    const handler = this.walk(path, params)?.handlers.get(method);
    return handler === undefined ? null : { handler, params };
  }

  /** Methods of a path, with HEAD for every GET; empty for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const methods = [...(this.walk(path, {})?.handlers.keys() ?? [])];
    return methods.flatMap((method) =>
      method === 'GET' && !methods.includes('HEAD') ? ['GET', 'HEAD'] : method,
    );
  }

  private walk(path: string, params: Record<string, string>): RouteNode<Handler> | null {
    let node = this.root;
    for (const segment of path.split('/').slice(1)) {
      const literal = node.literals.get(segment);
      if (literal !== undefined) {
        node = literal;
      } else if (node.parameter !== null && segment !== '') {
        const value = decodeSegment(segment);
        if (value === null) return null;
        params[node.parameter.name] = value;
        node = node.parameter.node;
      } else {
        return null;
      }
    }
    return node;
  }

  private parameterBelow(node: RouteNode<Handler>, name: string): RouteNode<Handler> {
    node.parameter ??= { name, node: createNode() };
    if (node.parameter.name !== name) {
      throw new Error(`one place in a path has two names: ${node.parameter.name} and ${name}`);
    }
    return node.parameter.node;
  }
}

function literalBelow<Handler>(node: RouteNode<Handler>, segment: string): RouteNode<Handler> {
  let child = node.literals.get(segment);
  if (child === undefined) {
    child = createNode();
    node.literals.set(segment, child);
  }
  return child;
}

function decodeSegment(segment: string): string | null {
  try {
    return decodeURIComponent(segment);
  } catch {
    return null;
  }
}
