import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fault } from '../../kernel';
import { Settings } from '../../platform';
import { requestOf } from '../http-request';

/**
 * Allows changes only from the portal's own pages, by the headers of browsers. A request without such headers passes if
 * it carries no cookie.
 */
@Injectable()
export class SameOriginGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const { headers } = requestOf(context);
    const site = headers['sec-fetch-site'];
    const { origin } = headers;
    // Portal pages send no referrer, so browsers send `Origin: null` for forms and report the site instead.
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

  /** Pages are served under several checked hosts, so the requested host counts as well. */
  private isOwn(origin: string, host: string | undefined): boolean {
    if (origin === this.settings.baseUrl) return true;
    return URL.canParse(origin) && host !== undefined && new URL(origin).host === host;
  }
}
