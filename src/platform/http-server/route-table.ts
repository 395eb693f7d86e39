export interface RouteMatch<Handler> {
  readonly handler: Handler;
  readonly params: Readonly<Record<string, string>>;
}

interface Node<Handler> {
  readonly literals: Map<string, Node<Handler>>;
  parameter: { readonly name: string; readonly node: Node<Handler> } | null;
  readonly handlers: Map<string, Handler>;
}

const emptyParams: Readonly<Record<string, string>> = Object.freeze({});

const makeNode = <Handler>(): Node<Handler> => ({
  literals: new Map(),
  parameter: null,
  handlers: new Map(),
});

/**
 * Routes as a tree of path segments; a literal segment wins over a parameter. Paths without parameters, which are
 * nearly all of the hot ones, are found in one map.
 */
export class RouteTable<Handler> {
  /** Every route that was added, as `[method, path]`. */
  readonly added: (readonly [method: string, path: string])[] = [];
  private readonly root = makeNode<Handler>();
  private readonly literal = new Map<string, Map<string, Handler>>();

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
    if (!segments.some((segment) => segment.startsWith(':'))) this.literal.set(path, node.handlers);
  }

  find(method: string, path: string): RouteMatch<Handler> | null {
    const direct = this.literal.get(path)?.get(method);
    if (direct !== undefined) return { handler: direct, params: emptyParams };
    const params: Record<string, string> = {};
    const handler = this.walk(path, params)?.handlers.get(method);
    return handler === undefined ? null : { handler, params };
  }

  /** The methods a path answers to, HEAD with every GET; empty for an unknown path. */
  methodsOf(path: string): readonly string[] {
    const methods = [...(this.walk(path, {})?.handlers.keys() ?? [])];
    return methods.flatMap((method) =>
      method === 'GET' && !methods.includes('HEAD') ? ['GET', 'HEAD'] : method,
    );
  }

  private walk(path: string, params: Record<string, string>): Node<Handler> | null {
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

  private parameterBelow(node: Node<Handler>, name: string): Node<Handler> {
    node.parameter ??= { name, node: makeNode() };
    if (node.parameter.name !== name) {
      throw new Error(`one place in a path has two names: ${node.parameter.name} and ${name}`);
    }
    return node.parameter.node;
  }
}

function literalBelow<Handler>(node: Node<Handler>, segment: string): Node<Handler> {
  let child = node.literals.get(segment);
  if (child === undefined) {
    child = makeNode();
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
