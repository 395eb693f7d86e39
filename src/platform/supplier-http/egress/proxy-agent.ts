import { Agent, type AgentOptions as PlainOptions, type ClientRequest } from 'node:http';
import { Agent as SecureAgent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, type SecureContext } from 'node:tls';
import type { Settings } from '../../config';
import { ProxyFailed } from '../errors';
import { openTo } from '../wire';
import type { Proxy } from './proxy';
import { problemOf, tunnelThrough } from './tunnel';
import { contextOf, type EgressOptions, EgressRouter } from './egress-router';

/** Node accepts no socket in addition to an error, whatever its types say. */
type CreateCallback = (error: Error | null, socket: Duplex) => void;

interface ProxyHop {
  readonly proxy: Proxy;
  readonly secureContext: SecureContext | undefined;
  readonly timeoutMs: number;
}

const noSocket = undefined as never;

/** Called by Node for each request; missing in its types. */
const agentPrototype = Agent.prototype as unknown as {
  addRequest(request: ClientRequest, options: object): void;
};

/**
 * For packages that use Node's own client: an agent that uses the proxy of the settings. Null if the URL is reached
 * directly.
 */
export function proxyAgent(
  url: URL,
  settings: EgressOptions & Pick<Settings, 'supplierConnectTimeoutMs'>,
  options: AgentOptions,
): Agent | null {
  const proxy = new EgressRouter(settings).proxyFor(url);
  if (proxy === null) return null;
  const { egressCa, supplierConnectTimeoutMs: timeoutMs } = settings;
  const hop = { proxy, timeoutMs, secureContext: egressCa === undefined ? undefined : contextOf([egressCa]) };
  return url.protocol === 'https:' ? new TunnelAgent(hop, options) : new ForwardingAgent(hop, url, options);
}

/** The proxy connects; the traffic is between the two ends. */
class TunnelAgent extends SecureAgent {
  constructor(
    private readonly hop: ProxyHop,
    options: AgentOptions,
  ) {
    super(options);
  }

  override createConnection(
    options: AgentOptions & { host?: string; port?: number },
    callback?: CreateCallback,
  ): undefined {
    this.tunnelTo(`${options.host}:${options.port}`).then(
      (socket) => callback?.(null, connect({ ...options, path: undefined, socket })),
      (error: unknown) => callback?.(error as Error, noSocket),
    );
  }

  private async tunnelTo(target: string) {
    const { hop } = this;
    const ending = new AbortController();
    const timer = setTimeout(
      () => ending.abort(new ProxyFailed(hop.proxy.host, `did not connect within ${hop.timeoutMs} ms`)),
      hop.timeoutMs,
    );
    try {
      return await tunnelThrough({ ...hop, target, signal: ending.signal });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Connections go to the proxy, which gets absolute URLs. */
class ForwardingAgent extends Agent {
  constructor(
    private readonly hop: ProxyHop,
    private readonly url: URL,
    options: PlainOptions,
  ) {
    super(options);
  }

  override createConnection(_options: object, callback?: CreateCallback): undefined {
    const { proxy, ...terms } = this.hop;
    openTo({ origin: proxy.origin, ...terms }, (error, socket) =>
      callback?.(error && new ProxyFailed(proxy.host, problemOf(error), error), socket ?? noSocket),
    );
  }

  addRequest(request: ClientRequest, options: object): void {
    request.path = `${this.url.origin}${request.path}`;
    for (const [name, value] of Object.entries(this.hop.proxy.headers)) request.setHeader(name, value);
    agentPrototype.addRequest.call(this, request, options);
  }
}
