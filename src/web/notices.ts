import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../kernel';
import { Settings } from '../platform';
import type { Notice } from './frame-data';
import { addCookie, cookieOf } from './cookies';
import type { HttpRequest } from './http-request';

const COOKIE = 'svc_notice';
const MAX_AGE_SECONDS = 120;
const MAX_VALUE_LENGTH = 200;

/** Carries a notice in a signed cookie from a change to the next page, which shows it once. */
@Injectable()
export class Notices {
  constructor(private readonly settings: Settings) {}

  store(response: ServerResponse, notice: Notice): void {
    const values = Object.entries(notice.values ?? {}).map(([name, value]): [string, string | number] => [
      name,
      typeof value === 'string' ? value.slice(0, MAX_VALUE_LENGTH) : value,
    ]);
    const packed = Buffer.from(JSON.stringify({ ...notice, values: Object.fromEntries(values) })).toString(
      'base64url',
    );
    this.setCookie(response, `${packed}.${this.signatureOf(packed)}`, MAX_AGE_SECONDS);
  }

  take(request: HttpRequest, response: ServerResponse): Notice | null {
    const cookie = cookieOf(request.headers, COOKIE);
    if (cookie === null) return null;
    this.setCookie(response, '', 0);
    const [packed = '', signature = ''] = cookie.split('.');
    const expected = Buffer.from(this.signatureOf(packed));
    const actual = Buffer.from(signature);
    if (actual.length !== expected.length || !timingSafeEqual(actual, expected)) return null;
    return parseJsonText(Buffer.from(packed, 'base64url').toString('utf8')) as Notice;
  }

  private setCookie(response: ServerResponse, value: string, maxAgeSeconds: number): void {
    addCookie(response, this.settings, COOKIE, value, maxAgeSeconds);
  }

  private signatureOf(packed: string): string {
    return createHmac('sha256', this.settings.sessionSecret).update(`notice:${packed}`).digest('base64url');
  }
}
