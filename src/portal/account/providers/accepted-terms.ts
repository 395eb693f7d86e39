import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Settings } from '../../../platform';
import { addCookie, cookieOf, type HttpRequest } from '../../../web';

const termsCookie = 'svc_terms';
const VALID_SECONDS = 900;

/** Acceptance of the terms before the browser leaves for a provider: signed, and valid for 15 minutes. */
@Injectable()
export class AcceptedTerms {
  constructor(private readonly settings: Settings) {}

  remember(response: ServerResponse, version: string): void {
    addCookie(response, this.settings, termsCookie, this.sign(version, ''), VALID_SECONDS);
  }

  read(request: HttpRequest): string | undefined {
    return this.verify(cookieOf(request.headers, termsCookie) ?? '', '');
  }

  /** Signs the acceptance for transfer to BASE_URL, as cookies do not cross hosts; tied to the browser's binding. */
  exportSigned(request: HttpRequest, binding: string): string | undefined {
    const version = this.read(request);
    return version === undefined ? undefined : this.sign(version, binding);
  }

  readExported(text: string, binding: string): string | undefined {
    return this.verify(text, binding);
  }

  private sign(version: string, binding: string): string {
    const payload = `${version}~${Math.floor(Date.now() / 1_000) + VALID_SECONDS}`;
    return `${payload}~${this.computeProof(payload, binding)}`;
  }

  private verify(text: string, binding: string): string | undefined {
    const [version = '', expiresAt = '', proof = ''] = text.split('~');
    const expected = Buffer.from(this.computeProof(`${version}~${expiresAt}`, binding));
    const actual = Buffer.from(proof);
    const isGenuine = actual.length === expected.length && timingSafeEqual(actual, expected);
    return isGenuine && Number(expiresAt) * 1_000 > Date.now() ? version : undefined;
  }

  private computeProof(payload: string, binding: string): string {
    const text = binding === '' ? `terms:${payload}` : `terms:${payload}:${binding}`;
    return createHmac('sha256', this.settings.sessionSecret).update(text).digest('base64url');
  }
}
