import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { fault } from '../kernel';
import { isLoopback, isLoopbackOrigin, Settings } from '../platform';
import { addCookie, cookieOf } from './cookies';
import { queryOf, requestOf } from './http-request';

const COOKIE = 'svc_development';
const COOKIE_SECONDS = 86_400;

/** True if developer pages are mounted: in development, and only on this machine. */
export const servesDeveloperPages = ({ environment, host, baseUrl, portalOrigins }: Settings): boolean =>
  environment === 'development' && isLoopback(host) && [baseUrl, ...portalOrigins].every(isLoopbackOrigin);

/** Token of the pages below `/dev`, derived so that all processes of a node share it. */
export const developmentToken = ({ sessionSecret }: Pick<Settings, 'sessionSecret'>): string =>
  createHmac('sha256', sessionSecret).update('development pages').digest('base64url');

const FORWARDING_HEADERS =
  /^(?:forwarded|via|x-forwarded-.+|x-original-.+|x-real-ip|(?:x-)?(?:cluster-)?client-ip|true-client-ip|cf-connecting-ip)$/;

const isForwarded = (headers: IncomingHttpHeaders): boolean =>
  Object.keys(headers).some((name) => FORWARDING_HEADERS.test(name));

/**
 * Guards `/dev`, which shows every email and is reachable through a local proxy. The token comes in the query once,
 * then in a cookie.
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
