import { applyDecorators, SetMetadata, UseGuards } from '@nestjs/common';
import type { UserRole } from '../kernel';
import { ApiKeyGuard, BearerGuard, ChatGuard, RootKeyGuard } from './guards/key-guards';
import { PublicRateGuard } from './guards/public-rate.guard';
import { RoleGuard } from './guards/role.guard';
import { RestingSessionGuard, SessionGuard } from './guards/session.guard';
import { accessMetadata, type AccessRule } from './access-rule';

type RouteAccessDecorator = ClassDecorator & MethodDecorator;
type GuardClass =
  | typeof BearerGuard
  | typeof ChatGuard
  | typeof ApiKeyGuard
  | typeof RootKeyGuard
  | typeof SessionGuard
  | typeof RestingSessionGuard
  | typeof RoleGuard
  | typeof PublicRateGuard;

const declare = (rule: AccessRule, ...guards: GuardClass[]): RouteAccessDecorator =>
  applyDecorators(SetMetadata(accessMetadata, rule), ...(guards.length > 0 ? [UseGuards(...guards)] : []));

/** Declares who can call a handler. Boot fails for a handler without a declaration on itself or its controller. */
export const Access = {
  /** Public, with the rate limit of public requests per address. */
  anyone: (): RouteAccessDecorator => declare({ kind: 'anyone' }, PublicRateGuard),
  /** Public without a rate limit, for frequent and cheap health probes. */
  probe: (): RouteAccessDecorator => declare({ kind: 'anyone' }),
  /** A sender authenticated by a signature over the body, which the handler verifies first. */
  signed: (): RouteAccessDecorator => declare({ kind: 'signed' }),
  /** A client key as `Authorization: Bearer`. */
  bearer: (): RouteAccessDecorator => declare({ kind: 'key', header: 'bearer' }, BearerGuard),
  /** A client key or a user's web chat key, as `Authorization: Bearer`. */
  chat: (): RouteAccessDecorator => declare({ kind: 'key', header: 'bearer' }, ChatGuard),
  /** A client key as `x-api-key` or Bearer, because client families differ. */
  eitherHeader: (): RouteAccessDecorator => declare({ kind: 'key', header: 'either' }, ApiKeyGuard),
  rootKey: (): RouteAccessDecorator => declare({ kind: 'root' }, RootKeyGuard),
  session: (): RouteAccessDecorator => declare({ kind: 'session' }, SessionGuard),
  /** A session whose account can also be suspended or archived. */
  restingSession: (): RouteAccessDecorator => declare({ kind: 'session' }, RestingSessionGuard),
  role: (minimum: UserRole): RouteAccessDecorator =>
    declare({ kind: 'role', minimum }, SessionGuard, RoleGuard),
} as const;
