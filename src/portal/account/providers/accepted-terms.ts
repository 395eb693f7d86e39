import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../../platform';
import { addCookie, cookieOf, type HttpRequest } from '../../../web';

const termsCookie = 'svc_terms';
const VALID_SECONDS = 900;

/** That the terms were accepted before leaving for a provider: signed, for a quarter of an hour. */
@Injectable()
export class AcceptedTerms {
  constructor(private readonly settings: Settings) {}

  remember(response: ServerResponse, version: string): void {
    const said = `${version}~${Math.floor(Date.now() / 1_000) + VALID_SECONDS}`;
    addCookie(response, this.settings, termsCookie, `${said}~${this.proofOf(said)}`, VALID_SECONDS);
  }

  read(request: HttpRequest): string | undefined {
    const [version = '', until = '', proof = ''] = (cookieOf(request.headers, termsCookie) ?? '').split('~');
    const expected = Buffer.from(this.proofOf(`${version}~${until}`));
    const given = Buffer.from(proof);
    const genuine = given.length === expected.length && timingSafeEqual(given, expected);
    return genuine && Number(until) * 1_000 > Date.now() ? version : undefined;
  }

  private proofOf(said: string): string {
    return createHmac('sha256', this.settings.sessionSecret).update(`terms:${said}`).digest('base64url');
  }
}
