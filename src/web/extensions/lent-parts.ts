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
  type Field,
  filled,
  line,
  lines,
  matching,
  oneOf,
  truth,
  whole,
} from '../../kernel';
import { recordedFor } from '../../keys';
import { Takes } from '../../platform';
import { column, tableOf } from '../../views';
import { Access } from '../access';
import { requestOf } from '../http-request';
import { PathId, PathText } from '../parameters';
import { ExtensionDone } from './extension-handler';
import { extensionKinds } from './extension-route';

/** Classes that our own Nest has decorated. Metadata alone do not tell, as all copies of Nest write the same. */
const decorated = new WeakSet<object>([Reflector]);

export const isDecorated = (target: object): boolean => decorated.has(target);

const noted =
  <Given extends readonly unknown[]>(decorator: (...given: Given) => ClassDecorator) =>
  (...given: Given): ClassDecorator =>
  (target) => {
    decorator(...given)(target);
    decorated.add(target);
  };

const { anyone, session, role, bearer, eitherHeader } = Access;

/** What extensions are lent. It holds nothing of one service, as a process may run several. */
export const lentParts: HostParts = {
  ...extensionKinds,
  Module: noted(Module),
  Injectable: noted(Injectable),
  Controller: noted((prefix = '') => Controller(prefix)),
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
    const { userId, organisationId, departmentId, projectId } = recordedFor(caller);
    return { id: caller.keyId, userId, organisationId, departmentId, projectId } satisfies RequestKey;
  }),
  Takes: (given) => Takes(given as unknown as Field<unknown>),
  field: { ...{ filled, line, lines, whole, decimal, oneOf, matching, truth, day } },
  ...{ PathId, PathText },
  done: (to, facts, outcome = {}) => new ExtensionDone(to, facts, outcome),
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
