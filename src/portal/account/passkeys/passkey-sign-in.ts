import type { ServerResponse } from 'node:http';
import { isIP } from 'node:net';
import { Injectable } from '@nestjs/common';
import { Passkeys } from '../../../identity';
import { Fault } from '../../../kernel';
import { Settings } from '../../../platform';
import { addCookie, ClientAddress, cookieOf, type HttpRequest } from '../../../web';
import { AccountMails } from '../account-mails';
import { passkeyCookie } from './passkey-credential';

@Injectable()
export class PasskeySignIn {
  constructor(
    private readonly passkeys: Passkeys,
    private readonly mails: AccountMails,
    private readonly addresses: ClientAddress,
    private readonly settings: Settings,
  ) {}

  /** Passkeys are bound to the host of BASE_URL, and an IP address cannot have any. */
  isOffered({ headers }: HttpRequest): boolean {
    const { host, hostname } = new URL(this.settings.baseUrl);
    return isIP(hostname.replaceAll(/[[\]]/g, '')) === 0 && headers.host?.toLowerCase() === host;
  }

  async authenticate(
    request: HttpRequest,
    response: ServerResponse,
    credential: string,
    userId?: number,
  ): Promise<number> {
    const challenge = cookieOf(request.headers, passkeyCookie) ?? '';
    const address = this.addresses.of(request);
    addCookie(response, this.settings, passkeyCookie, '', 0);
    try {
      return await this.passkeys.recognise({
        challenge,
        credential,
        address,
        ...(userId !== undefined && { userId }),
      });
    } catch (error) {
      if (error instanceof Fault && error.code === 'invalid_credentials') {
        const email = await this.passkeys.ownerAddress(credential);
        if (email !== null) await this.mails.enqueue('failed', email, request);
      }
      throw error;
    }
  }
}
