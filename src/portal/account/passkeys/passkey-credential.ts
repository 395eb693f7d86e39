import { applyDecorators } from '@nestjs/common';
import { IsString, MaxLength, MinLength } from '../../../platform';

/** Holds the challenge, so that a response is valid only in the browser that requested it. */
export const passkeyCookie = 'svc_passkey';
export const PASSKEY_SECONDS = 300;

/** The authenticator's response, sent by the browser as JSON. */
export const IsCredential = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(20_000));
