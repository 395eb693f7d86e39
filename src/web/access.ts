import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import type { Role } from '../kernel';
import { ApiKeyGuard, BearerGuard, ChatGuard, RootKeyGuard } from './guards/key-guards';
import { PublicRateGuard } from './guards/public-rate.guard';
import { RoleGuard } from './guards/role.guard';
import { RestingSessionGuard, SessionGuard } from './guards/session.guard';
import { accessMetadata, type AccessRule } from './access-rule';

type AccessDecorator = ClassDecorator & MethodDecorator;
type GuardClass =
  | typeof BearerGuard
  | typeof ChatGuard
  | typeof ApiKeyGuard
  | typeof RootKeyGuard
  | typeof SessionGuard
  | typeof RestingSessionGuard
  | typeof RoleGuard
  | typeof PublicRateGuard;

const declare = (rule: AccessRule, ...guards: GuardClass[]): AccessDecorator =>
  applyDecorators(SetMetadata(accessMetadata, rule), ...(guards.length > 0 ? [UseGuards(...guards)] : []));

/**
 * Each handler states who may call it. Every handler or its controller declares this; the boot refuses one
 * that does not, so that a forgotten declaration opens nothing.
 */
export const Access = {
  /** It is public, with the rate limit of public requests for each address. */
  anyone: (): AccessDecorator => declare({ kind: 'anyone' }, PublicRateGuard),
  /** It is public without a limit: for probes, which are frequent and cheap. */
  probe: (): AccessDecorator => declare({ kind: 'anyone' }),
  /** A sender authenticated by a signature over the body, which the handler verifies first. */
  signed: (): AccessDecorator => declare({ kind: 'signed' }),
  /** A client key as `Authorization: Bearer`. */
  bearer: (): AccessDecorator => declare({ kind: 'key', header: 'bearer' }, BearerGuard),
  /** The same, or the key of a person's web chat. */
  chat: (): AccessDecorator => declare({ kind: 'key', header: 'bearer' }, ChatGuard),
  /** A client key as `x-api-key` or as Bearer: the two families of clients differ. */
  eitherHeader: (): AccessDecorator => declare({ kind: 'key', header: 'either' }, ApiKeyGuard),
  rootKey: (): AccessDecorator => declare({ kind: 'root' }, RootKeyGuard),
  session: (): AccessDecorator => declare({ kind: 'session' }, SessionGuard),
  /** A session of an account that may be suspended or archived as well. */
  restingSession: (): AccessDecorator => declare({ kind: 'session' }, RestingSessionGuard),
  role: (minimum: Role): AccessDecorator => declare({ kind: 'role', minimum }, SessionGuard, RoleGuard),
} as const;
