import {
  applyDecorators,
  BadRequestException,
  Body,
  ConflictException,
  Controller,
  createParamDecorator,
  Delete,
  type ExecutionContext,
  ForbiddenException,
  Get,
  HttpCode,
  HttpException,
  Inject,
  Injectable,
  Module,
  NotFoundException,
  Optional,
  Param,
  Post,
  Query,
  Redirect,
  Req,
  SetMetadata,
  UseGuards,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { AccessDecorator, ActionOptions, Outcome, Reader } from '../pages';
import type { HostParts } from '../nest';
import type { Role } from '../navigation';
import type { RequestKey } from '../requests';
import { TestFault } from './errors';
import { fields, FieldIssue, type TestField } from './fields';

export const ROUTE = 'switchboard:test-route';
export const ACCESS = 'switchboard:test-access';

export interface TestRoute {
  readonly kind: 'page' | 'data' | 'action' | 'csv' | 'redirect';
  readonly view?: string;
  readonly fileName?: string;
  readonly audit?: ActionOptions['audit'];
}

export type TestAccess =
  | { readonly kind: 'anyone' | 'session' | 'bearer' | 'either' }
  | { readonly kind: 'role'; readonly minimum: Role };

/** A request as the guard leaves it. */
export interface TestRequest {
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly method: string;
  readonly path: string;
  reader?: Reader;
  caller?: RequestKey;
}

export class TestDone {
  constructor(
    readonly to: string,
    readonly facts: object,
    readonly outcome: Outcome,
  ) {}
}

/** Fields of form classes. */
export const formFields = new WeakMap<object, Map<string, TestField<unknown>>>();

const access = (rule: TestAccess): AccessDecorator => SetMetadata(ACCESS, rule);

const route = (
  method: MethodDecorator,
  metadata: TestRoute,
  rule: AccessDecorator,
  ...more: MethodDecorator[]
): MethodDecorator => applyDecorators(method, rule, SetMetadata(ROUTE, metadata), ...more);

const requestIn = (context: ExecutionContext): TestRequest =>
  context.switchToHttp().getRequest<TestRequest>();

function required<Value>(value: Value | undefined, name: string, what: string): Value {
  if (value === undefined) throw new Error(`${name} is for routes behind a ${what}`);
  return value;
}

const pathField =
  (field: TestField<unknown>) =>
  (name: string): ParameterDecorator =>
    Param(name, {
      transform(value: unknown) {
        const read = field.read(value);
        if (!(read instanceof FieldIssue)) return read;
        throw new TestFault('validation_error', {}, [{ loc: ['path', name], ...read }]);
      },
    });

const MAX_ROW_ID = 2_147_483_647;
const MAX_PATH_TEXT = 256;

/** Exports of `@switchboard/extension/nest` in tests: Nest's own decorators, and doubles of the host's. */
export const testParts: HostParts = {
  Page: (path, view, rule) => route(Get(path), { kind: 'page', view }, rule),
  Data: (path, rule) => route(Get(path), { kind: 'data' }, rule),
  Action: (path, rule, { audit, verb }) =>
    route(verb === 'delete' ? Delete(path) : Post(path), { kind: 'action', audit }, rule, HttpCode(200)),
  Csv: (path, rule, fileName) => route(Get(path), { kind: 'csv', fileName }, rule),
  Redirects: (from, to, rule) => route(Get(from), { kind: 'redirect' }, rule, Redirect(to, 302)),
  Access: {
    anyone: () => access({ kind: 'anyone' }),
    session: () => access({ kind: 'session' }),
    role: (minimum) => access({ kind: 'role', minimum }),
    bearer: () => access({ kind: 'bearer' }),
    eitherHeader: () => access({ kind: 'either' }),
  },
  TheReader: createParamDecorator((_: unknown, context: ExecutionContext) =>
    required(requestIn(context).reader, 'TheReader', 'session'),
  ),
  TheCaller: createParamDecorator((_: unknown, context: ExecutionContext) =>
    required(requestIn(context).caller, 'TheCaller', 'key'),
  ),
  Takes: (testField) => (target, name) => {
    const fieldsOfForm = formFields.get(target.constructor) ?? new Map<string, TestField<unknown>>();
    formFields.set(target.constructor, fieldsOfForm.set(String(name), testField as TestField<unknown>));
  },
  field: fields,
  PathId: pathField(fields.whole(1, MAX_ROW_ID) as TestField<number>),
  PathText: pathField(fields.line(MAX_PATH_TEXT) as TestField<string>),
  done: (to, facts, outcome = {}) => new TestDone(to, facts, outcome),
  fault: (code, options) => new TestFault(code, options),
  column: (label, kind, value, ...marks) => ({ show: (row) => ({ label, kind, value: value(row), marks }) }),
  tableOf: (rows, { columns, ...input }) => ({
    ...input,
    rows: rows.map((row) => columns.map((column) => column.show(row))),
  }),
  Controller: (prefix = '') => Controller(prefix),
  Reflector: Reflector,
  ...{ Module, Injectable, Inject, Optional, Body, Param, Query, Req, UseGuards, SetMetadata },
  ...{ HttpException, BadRequestException, ForbiddenException, NotFoundException, ConflictException },
};
