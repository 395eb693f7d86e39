import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../../platform';
import { addCookie, cookieOf, type HttpRequest } from '../../../web';

const termsCookie = 'svc_terms';
const VALID_SECONDS = 900;

/** Acceptance of the terms before a browser leaves for a provider: signed, and valid for 15 minutes. */
@Injectable()
export class AcceptedTerms {
  constructor(private readonly settings: Settings) {}

  remember(response: ServerResponse, version: string): void {
    addCookie(response, this.settings, termsCookie, this.sign(version, ''), VALID_SECONDS);
  }

  read(request: HttpRequest): string | undefined {
    return this.verify(cookieOf(request.headers, termsCookie) ?? '', '');
  }

  /** Cookies end at their host, so another portal hands its acceptance to BASE_URL, tied to the browser's binding. */
  carry(request: HttpRequest, binding: string): string | undefined {
    const version = this.read(request);
    return version === undefined ? undefined : this.sign(version, binding);
  }

  readCarried(text: string, binding: string): string | undefined {
    return this.verify(text, binding);
  }

  private sign(version: string, binding: string): string {
    const signed = `${version}~${Math.floor(Date.now() / 1_000) + VALID_SECONDS}`;
    return `${signed}~${this.proofOf(signed, binding)}`;
  }

  private verify(text: string, binding: string): string | undefined {
    const [version = '', until = '', proof = ''] = text.split('~');
    const expected = Buffer.from(this.proofOf(`${version}~${until}`, binding));
    const given = Buffer.from(proof);
    const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
    return isGenuine && Number(until) * 1_000 > Date.now() ? version : undefined;
  }

  private proofOf(signed: string, binding: string): string {
    const text = binding === '' ? `terms:${signed}` : `terms:${signed}:${binding}`;
    return createHmac('sha256', this.settings.sessionSecret).update(text).digest('base64url');
  }
}
