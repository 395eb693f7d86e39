import 'reflect-metadata';
import type { ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import {
  type CanActivate,
  Controller,
  type ExecutionContext,
  Get,
  Header,
  HttpCode,
  type INestApplication,
  Module,
  type NestInterceptor,
  Param,
  Post,
  Redirect,
  Req,
  Res,
  UseGuards,
  UseInterceptors,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { map, of } from 'rxjs';
import { LeanAdapter } from '../../../src/platform';

type Ask = { url: string };
let told: string[] = [];

const guard = (name: string, answer: (context: ExecutionContext) => unknown): CanActivate =>
  ({
    canActivate: (context: ExecutionContext) => {
      const asked = context.switchToHttp().getRequest<Ask>().url;
      told.push(`${name} for ${context.getClass().name}.${context.getHandler().name} at ${asked}`);
      return answer(context);
    },
  }) as CanActivate;

const yes = guard('yes', () => true);
const soon = guard('soon', () => Promise.resolve(true));
const seen = guard('seen', () => of(true));
const no = guard('no', () => false);
const later = guard('later', () => Promise.resolve(false));
const never = guard('never', () => of(false));
const broken = guard('broken', () => {
  throw new Error('a guard broke');
});

const loud: NestInterceptor = {
  intercept: (_context, next) => {
    told.push('intercepted');
    return next.handle().pipe(map((answer: unknown) => answer));
  },
};

const send = (response: ServerResponse, text: string): void => void response.end(JSON.stringify({ text }));

@Controller('v1')
@UseGuards(yes)
class Routes {
  private readonly name = 'this';

  @Post('sends')
  sends(@Req() { url }: Ask, @Res() response: ServerResponse): void {
    send(response, `${this.name} at ${url}`);
  }

  @Post('sends-later')
  @HttpCode(202)
  @UseGuards(soon, seen, yes)
  async sendsLater(@Req() { url }: Ask, @Res() response: ServerResponse): Promise<void> {
    await Promise.resolve();
    send(response, url);
  }

  @Get('no')
  @UseGuards(no, yes)
  no(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'never');
  }

  @Get('later')
  @UseGuards(soon, later, yes)
  later(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'never');
  }

  @Get('never')
  @UseGuards(never)
  never(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'never');
  }

  @Get('broken')
  @UseGuards(broken)
  broken(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'never');
  }

  @Get('throws')
  throws(@Req() _request: Ask, @Res() _response: ServerResponse): void {
    throw new Error('a handler broke');
  }

  @Get('rejects')
  rejects(@Req() _request: Ask, @Res() _response: ServerResponse): Promise<void> {
    return Promise.reject(new Error('a handler broke later'));
  }

  @Get('intercepted')
  @UseInterceptors(loud)
  intercepted(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'intercepted');
  }

  @Get('passes-through')
  passesThrough(@Req() _request: Ask, @Res({ passthrough: true }) response: ServerResponse): object {
    response.setHeader('x-mine', 'yes');
    return { text: 'passed through' };
  }

  @Get('one/:name')
  one(@Req() _request: Ask, @Res() response: ServerResponse, @Param('name') name: string): void {
    send(response, name);
  }

  @Get('swapped')
  swapped(@Res() response: ServerResponse, @Req() { url }: Ask): void {
    send(response, url);
  }

  @Get('headed')
  @Header('x-mine', 'yes')
  headed(@Req() _request: Ask, @Res() response: ServerResponse): void {
    send(response, 'headed');
  }
}

/** Express answers it: below `/v1` nothing is redirected. */
@Controller()
class Portal {
  @Get('elsewhere')
  @Redirect('/v1/headed')
  elsewhere(@Req() _request: Ask, @Res() _response: ServerResponse): void {
    told.push('sent elsewhere');
  }
}

@Module({ controllers: [Routes, Portal] })
class Root {}

const start = async (lean: boolean): Promise<INestApplication> => {
  const app = await NestFactory.create(Root, new LeanAdapter(lean), { logger: false, abortOnError: false });
  return app.listen(0, '127.0.0.1').then(() => app);
};

let apps: { straight: INestApplication; usual: INestApplication };
beforeAll(async () => {
  apps = { straight: await start(true), usual: await start(false) };
});
afterAll(() => Promise.all([apps.straight.close(), apps.usual.close()]));

interface Heard {
  readonly status: number;
  readonly mine: string | null;
  readonly location: string | null;
  readonly body: unknown;
  readonly told: readonly string[];
}

async function ask(app: INestApplication, method: string, path: string): Promise<Heard> {
  told = [];
  const answer = await fetch(`${await app.getUrl()}${path}`, { method, redirect: 'manual' });
  const body: unknown = answer.status < 300 || answer.status >= 400 ? await json(answer.body!) : null;
  const { headers, status } = answer;
  return { status, mine: headers.get('x-mine'), location: headers.get('location'), body, told };
}

const text = (what: string): object => ({ text: what });

test.each([
  ['POST', '/v1/sends', 201, text('this at /v1/sends'), ['yes']],
  ['POST', '/v1/sends-later', 202, text('/v1/sends-later'), ['yes', 'soon', 'seen', 'yes']],
  ['GET', '/v1/no', 403, expect.objectContaining({ message: 'Forbidden resource' }), ['yes', 'no']],
  ['GET', '/v1/later', 403, expect.objectContaining({ error: 'Forbidden' }), ['yes', 'soon', 'later']],
  ['GET', '/v1/never', 403, expect.anything(), ['yes', 'never']],
  ['GET', '/v1/broken', 500, expect.anything(), ['yes', 'broken']],
  ['GET', '/v1/throws', 500, expect.anything(), ['yes']],
  ['GET', '/v1/rejects', 500, expect.anything(), ['yes']],
  ['GET', '/v1/intercepted', 200, text('intercepted'), ['yes', 'intercepted']],
  ['GET', '/v1/passes-through', 200, text('passed through'), ['yes']],
  ['GET', '/v1/one/two', 200, text('two'), ['yes']],
  ['GET', '/v1/swapped', 200, text('/v1/swapped'), ['yes']],
  ['GET', '/v1/headed', 200, text('headed'), ['yes']],
  ['GET', '/elsewhere', 302, null, ['sent elsewhere']],
])('%s %s is the same on the straight way as on the usual one', async (method, path, status, body, steps) => {
  const heard = await ask(apps.straight, method, path);
  expect(heard).toMatchObject({ status, body });
  expect(heard.told.map((step) => step.split(' for ')[0])).toEqual(steps);
  expect(await ask(apps.usual, method, path)).toEqual(heard);
});
