import { Agent, type AgentOptions as PlainOptions, type ClientRequest } from 'node:http';
import { Agent as SecureAgent, type AgentOptions } from 'node:https';
import type { Duplex } from 'node:stream';
import { connect, type SecureContext } from 'node:tls';
import type { Settings } from '../../config';
import { ProxyFailed } from '../errors';
import { openTo } from '../wire';
import type { Proxy } from './proxy';
import { problemOf, tunnelThrough } from './tunnel';
import { contextOf, type EgressSettings, Ways } from './ways';

/** Where there is an error, Node takes no socket, whatever its types say. */
type Given = (error: Error | null, socket: Duplex) => void;

interface Hop {
  readonly proxy: Proxy;
  readonly secureContext: SecureContext | undefined;
  readonly timeoutMs: number;
}

const none = undefined as never;

/** What Node calls for each request; its types do not have it. */
const adding = Agent.prototype as unknown as {
  addRequest(request: ClientRequest, options: object): void;
};

/**
 * For packages that ask by Node's own client: an agent that goes by the proxy of the settings. Null where the address is
 * reached directly.
 */
export function proxyAgent(
  url: URL,
  settings: EgressSettings & Pick<Settings, 'supplierConnectTimeoutMs'>,
  options: AgentOptions,
): Agent | null {
  const proxy = new Ways(settings).proxyFor(url);
  if (proxy === null) return null;
  const { egressCa, supplierConnectTimeoutMs: timeoutMs } = settings;
  const hop = { proxy, timeoutMs, secureContext: egressCa === undefined ? undefined : contextOf([egressCa]) };
  return url.protocol === 'https:' ? new TunnelAgent(hop, options) : new ForwardingAgent(hop, url, options);
}

/** The proxy connects; what is said is between the two ends. */
class TunnelAgent extends SecureAgent {
  constructor(
    private readonly hop: Hop,
    options: AgentOptions,
  ) {
    super(options);
  }

  override createConnection(
    options: AgentOptions & { host?: string; port?: number },
    give?: Given,
  ): undefined {
    this.tunnelTo(`${options.host}:${options.port}`).then(
      (socket) => give?.(null, connect({ ...options, path: undefined, socket })),
      (error: unknown) => give?.(error as Error, none),
    );
  }

  private async tunnelTo(target: string) {
    const { hop } = this;
    const ending = new AbortController();
    const late = setTimeout(
      () => ending.abort(new ProxyFailed(hop.proxy.host, `did not connect within ${hop.timeoutMs} ms`)),
      hop.timeoutMs,
    );
    try {
      return await tunnelThrough({ ...hop, target, signal: ending.signal });
    } finally {
      clearTimeout(late);
    }
  }
}

/** The proxy is what is connected to, and gets whole addresses. */
class ForwardingAgent extends Agent {
  constructor(
    private readonly hop: Hop,
    private readonly url: URL,
    options: PlainOptions,
  ) {
    super(options);
  }

  override createConnection(_options: object, give?: Given): undefined {
    const { proxy, ...terms } = this.hop;
    openTo({ origin: proxy.origin, ...terms }, (error, socket) =>
      give?.(error && new ProxyFailed(proxy.host, problemOf(error), error), socket ?? none),
    );
  }

  addRequest(request: ClientRequest, options: object): void {
    request.path = `${this.url.origin}${request.path}`;
    for (const [name, value] of Object.entries(this.hop.proxy.headers)) request.setHeader(name, value);
    adding.addRequest.call(this, request, options);
  }
}
