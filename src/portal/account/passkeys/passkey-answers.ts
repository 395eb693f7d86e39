import { applyDecorators } from '@nestjs/common';
import { IsString, MaxLength, MinLength } from '../../../platform';

/** Holds the challenge: an answer counts in the browser that asked alone. */
export const passkeyCookie = 'svc_passkey';
export const PASSKEY_SECONDS = 300;

/** The browser sends the device's answer as JSON. */
export const IsCredential = (): PropertyDecorator =>
  applyDecorators(IsString(), MinLength(1), MaxLength(20_000));
