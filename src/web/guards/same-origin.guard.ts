import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { requestOf } from '../http-request';

/**
 * Browsers say where a request comes from; only our own pages may change anything. A request with no such word
 * passes when it carries no cookie either, for then there is nothing to abuse.
 */
@Injectable()
export class SameOriginGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = requestOf(context);
    const site = headers['sec-fetch-site'];
    const { origin } = headers;
    // Our pages name no referrer, so browsers send the origin of their forms as `null` and vouch for the site instead.
    const isVouchedFor = origin === 'null' && site === 'same-origin';
    if (origin !== undefined && !isVouchedFor && !this.isOwn(origin, headers.host))
      throw fault('csrf_rejected');
    if (site !== undefined) {
      if (site === 'same-origin' || site === 'none') return true;
      throw fault('csrf_rejected');
    }
    if (origin === undefined && headers.cookie !== undefined) throw fault('csrf_rejected');
    return true;
  }

  /** Pages are served under several hosts, all of them checked before: the one that was asked for counts as well. */
  private isOwn(origin: string, host: string | undefined): boolean {
    if (origin === this.settings.baseUrl) return true;
    return URL.canParse(origin) && host !== undefined && new URL(origin).host === host;
  }
}
