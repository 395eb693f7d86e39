import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { parseJsonText } from '../kernel';
import { Settings } from '../platform';
import type { Notice } from './frame-facts';
import { addCookie, cookieOf } from './cookies';
import type { HttpRequest } from './http-request';

const cookieName = 'svc_notice';
const KEPT_SECONDS = 120;
const LONGEST_VALUE = 200;

/** Travels in a signed cookie from the change to the next page, and is shown once. */
@Injectable()
export class Notices {
  constructor(private readonly settings: Settings) {}

  leave(response: ServerResponse, notice: Notice): void {
    const values = Object.entries(notice.values ?? {}).map(([name, value]): [string, string | number] => [
      name,
      typeof value === 'string' ? value.slice(0, LONGEST_VALUE) : value,
    ]);
    const packed = Buffer.from(JSON.stringify({ ...notice, values: Object.fromEntries(values) })).toString(
      'base64url',
    );
    this.setCookie(response, `${packed}.${this.signatureOf(packed)}`, KEPT_SECONDS);
  }

  take(request: HttpRequest, response: ServerResponse): Notice | null {
    const cookie = cookieOf(request.headers, cookieName);
    if (cookie === null) return null;
    this.setCookie(response, '', 0);
    const [packed = '', signature = ''] = cookie.split('.');
    const expected = Buffer.from(this.signatureOf(packed));
    const given = Buffer.from(signature);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
    return parseJsonText(Buffer.from(packed, 'base64url').toString('utf8')) as Notice;
  }

  private setCookie(response: ServerResponse, value: string, maxAgeSeconds: number): void {
    addCookie(response, this.settings, cookieName, value, maxAgeSeconds);
  }

  private signatureOf(packed: string): string {
    return createHmac('sha256', this.settings.sessionSecret).update(`notice:${packed}`).digest('base64url');
  }
}
