import type { IncomingMessage, ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ResellerDomains } from '../identity';
import { fault } from '../kernel';
import { isGatewayPath, isLoopback, isProbePath, Settings } from '../platform';
import { type HttpRequest, pathOf } from './http-request';

/**
 * The hosts that serve pages: our own, configured ones, and those of resellers. A page under a foreign name would let
 * that name's owner act in the reader's session (DNS rebinding). Gateway and probes have no session and answer under
 * any name.
 */
@Injectable()
export class PortalHosts {
  private readonly base: URL;

  /** The origins of PORTAL_ORIGINS are found by their hosts. */
  private readonly others: ReadonlyMap<string, string>;

  constructor(
    private readonly settings: Settings,
    private readonly resellers: ResellerDomains,
  ) {
    this.base = new URL(settings.baseUrl);
    const others = settings.portalOrigins.map((origin) => [new URL(origin).host, origin] as const);
    this.others = new Map(others.filter(([host]) => host !== this.base.host));
  }

  /** The origin is given where the portal of this request is another than BASE_URL's. */
  otherOriginOf({ portalHost = '', reseller }: HttpRequest): string | undefined {
    return reseller === undefined ? this.others.get(portalHost) : this.resellers.originOf(reseller);
  }

  readonly check = (
    request: IncomingMessage,
    _response: ServerResponse,
    next: (error?: unknown) => void,
  ): void => {
    const path = pathOf(request);
    const named = this.named(request.headers.host);
    if (isGatewayPath(path) || isProbePath(path)) next();
    else if (named !== undefined && this.others.has(named.host)) {
      (request as HttpRequest).portalHost = named.host;
      next();
    } else if (this.isOwn(named)) next();
    else void this.checkReseller(request as HttpRequest, named).then(() => next(), next);
  };

  private async checkReseller(request: HttpRequest, named: URL | undefined): Promise<void> {
    const reseller = named === undefined ? undefined : await this.resellers.find(named.host);
    if (reseller === undefined)
      throw fault('origin_not_allowed', {
        message: `Pages are served at ${this.base.origin} only. The setting BASE_URL says where that is.`,
      });
    request.reseller = reseller;
    request.portalHost = reseller.host;
  }

  private isOwn(url: URL | undefined): boolean {
    if (url === undefined) return false;
    if (url.host === this.base.host) return true;
    return this.settings.environment !== 'production' && isLoopback(url.hostname);
  }

  private named(host: string | undefined): URL | undefined {
    const named = `${this.base.protocol}//${host ?? ''}`;
    return host === undefined || !URL.canParse(named) ? undefined : new URL(named);
  }
}
