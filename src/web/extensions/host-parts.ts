import {
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  createParamDecorator,
  ForbiddenException,
  HttpException,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Optional,
  Param,
  Query,
  Req,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { HostParts } from '../../../packages/extension/src/nest';
import type { RequestKey } from '#extension';
import type { FaultOptions } from '../../../packages/extension/src/pages';
import {
  day,
  decimal,
  type ErrorCode,
  fault,
  type InputField,
  nonEmptyLine,
  line,
  multilineText,
  matching,
  oneOf,
  trueOrFalse,
  integer,
} from '../../kernel';
import { recordedAttribution } from '../../keys';
import { column, tableOf } from '../../views';
import { Access } from '../access';
import { requestOf } from '../http-request';
import { PathId, PathText } from '../parameters';
import { ParsedBy } from '../validation';
import { ExtensionDone } from './extension-handler';
import { extensionKinds } from './extension-route';

/** Classes decorated by the host's copy of Nest; metadata do not tell, because all copies write the same. */
const decorated = new WeakSet<object>([Reflector]);

export const isDecorated = (target: object): boolean => decorated.has(target);

const tracked =
  <Arguments extends readonly unknown[]>(decorator: (...args: Arguments) => ClassDecorator) =>
  (...args: Arguments): ClassDecorator =>
  (target) => {
    decorator(...args)(target);
    decorated.add(target);
  };

const { anyone, session, role, bearer, eitherHeader } = Access;

/** Parts provided to extensions. Holds no state of a service, because a process can run several. */
export const hostParts: HostParts = {
  ...extensionKinds,
  Module: tracked(Module),
  Injectable: tracked(Injectable),
  Controller: tracked((prefix = '') => Controller(prefix)),
  ...{ Inject, Optional, Body, Param, Query, Req, UseGuards, SetMetadata },
  Reflector: Reflector,
  ...{ HttpException, BadRequestException, ForbiddenException, NotFoundException, ConflictException },
  Access: { anyone, session, role, bearer, eitherHeader },
  TheReader: createParamDecorator((_: unknown, context) => {
    const { reader } = requestOf(context);
    if (reader === undefined) throw new Error('TheReader is for routes behind a session');
    return reader;
  }),
  TheCaller: createParamDecorator((_: unknown, context) => {
    const { caller } = requestOf(context);
    if (caller === undefined) throw new Error('TheCaller is for routes behind a key');
    const { userId, organisationId, departmentId, projectId } = recordedAttribution(caller);
    return { id: caller.keyId, userId, organisationId, departmentId, projectId } satisfies RequestKey;
  }),
  Takes: (input) => ParsedBy(input as unknown as InputField<unknown>),
  field: {
    ...{
      filled: nonEmptyLine,
      line,
      lines: multilineText,
      whole: integer,
      decimal,
      oneOf,
      matching,
      truth: trueOrFalse,
      day,
    },
  },
  ...{ PathId, PathText },
  done: (to, body, outcome = {}) => new ExtensionDone(to, body, outcome),
  fault: (code, options) => faultOf(code, options),
  column: column as never,
  tableOf: tableOf as never,
};

function faultOf(code: string, { message, param, reason, values }: FaultOptions = {}): Error {
  return fault(code as ErrorCode, {
    ...(message === undefined ? {} : { message }),
    ...(param === undefined ? {} : { param }),
    ...(reason === undefined ? {} : { details: { ...values, reasonOfExtension: reason } }),
  });
}
