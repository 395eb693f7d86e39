import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { isLoopback, isLoopbackOrigin, Settings } from '../platform';
import { addCookie, cookieOf } from './cookies';
import { queryOf, requestOf } from './http-request';

const COOKIE = 'svc_development';
const COOKIE_SECONDS = 86_400;

/** True where pages for developers are mounted: in development, for this machine only. */
export const isForDevelopment = ({ environment, host, baseUrl, portalOrigins }: Settings): boolean =>
  environment === 'development' && isLoopback(host) && [baseUrl, ...portalOrigins].every(isLoopbackOrigin);

/** Opens the pages below `/dev`; derived, so that all processes of a node have the same. */
export const developmentToken = ({ sessionSecret }: Pick<Settings, 'sessionSecret'>): string =>
  createHmac('sha256', sessionSecret).update('development pages').digest('base64url');

const forwarding =
  /^(?:forwarded|via|x-forwarded-.+|x-original-.+|x-real-ip|(?:x-)?(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => forwarding.test(name));

/**
 * Guards `/dev`, which shows every mail: a proxy on this machine reaches loopback, too. The token comes in the query
 * once, and in a cookie from then on.
 */
@Injectable()
export class DevelopmentGuard implements CanActivate {
  constructor(private readonly settings: Settings) {}

  canActivate(context: ExecutionContext): boolean {
    const request = requestOf(context);
    if (isForwarded(request.headers)) throw fault('not_found');
    const token = queryOf(request).get('token');
    if (!this.isValid(token ?? cookieOf(request.headers, COOKIE) ?? ''))
      throw fault('forbidden', { message: 'Open the address of /dev/outbox that the start printed.' });
    if (token !== null) {
      const response = context.switchToHttp().getResponse<ServerResponse>();
      addCookie(response, this.settings, COOKIE, token, COOKIE_SECONDS);
    }
    return true;
  }

  private isValid(token: string): boolean {
    const [actual, expected] = [Buffer.from(token), Buffer.from(developmentToken(this.settings))];
    return actual.length === expected.length && timingSafeEqual(actual, expected);
  }
}
