import type { ServerResponse } from 'node:http';
import { Body, Controller, Get, Module, Param, Post, Query, Req, Res } from '@nestjs/common';
import { Type } from '#inside/boot/packages';
import { IsEmail, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import {
  Access,
  Action,
  Csv,
  type CsvContent,
  Data,
  type HttpRequest,
  Page,
  Redirects,
  WebModule,
} from '#product/web';

export class DaysQuery {
  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(90)
  days?: number;
}

class NumberPath {
  @Type(() => Number)
  @IsInt()
  id: number;
}

export class ChangeForm {
  @IsEmail()
  email: string;

  @IsOptional()
  @IsString()
  note?: string;
}

/** Gateway routes that return what they received. */
@Controller('/v1/trial')
class GatewayTrial {
  @Get('bearer')
  @Access.bearer()
  bearer(@Req() request: HttpRequest): object {
    return { key: request.caller?.publicId };
  }

  @Get('either')
  @Access.eitherHeader()
  either(@Req() request: HttpRequest): object {
    return { key: request.caller?.publicId };
  }

  @Get('root')
  @Access.rootKey()
  root(@Req() request: HttpRequest): object {
    return { key: request.caller?.publicId };
  }

  @Get('echo/fixed')
  @Access.anyone()
  fixed(): object {
    return { fixed: true };
  }

  @Get('echo/:name')
  @Access.anyone()
  echo(@Param('name') name: string, @Query() query: object): object {
    return { name, query };
  }

  @Get('text')
  @Access.anyone()
  text(): string {
    return 'plain words';
  }

  @Post('nothing')
  @Access.anyone()
  nothing(): undefined {
    return undefined;
  }

  @Get('throws/:what')
  @Access.anyone()
  throws(@Param('what') what: string): never {
    // Simulates a library that throws a non-Error value.
    const thrown: unknown = {
      string: 'just words',
      nothing: undefined,
      error: new Error('a detail of ours'),
    }[what];
    throw thrown;
  }

  @Get('late')
  @Access.anyone()
  late(@Res() response: ServerResponse): never {
    response.write('half an answer');
    throw new Error('too late');
  }
}

/** A portal route of each kind. */
@Controller('/trial')
export class PortalTrial {
  readonly received: unknown[] = [];

  @Page('page', 'pages/public/home', Access.anyone())
  page(): object {
    return { snippets: { id: 'none', label: 'none', tabs: [] } };
  }

  @Data('data/:id', Access.anyone())
  data(@Param() path: NumberPath, @Query() query: DaysQuery): object {
    return { id: path.id, days: query.days ?? null };
  }

  @Data('me', Access.session())
  me(@Req() request: HttpRequest): object {
    return { userId: request.actor?.userId, role: request.actor?.role, scope: request.actor?.scope };
  }

  @Data('administration', Access.role('org_admin'))
  administration(): object {
    return { ok: true };
  }

  @Data('broken', Access.anyone())
  broken(): never {
    throw new Error('a detail of ours');
  }

  @Action('change', Access.session(), { audit: { none: 'a trial' } })
  change(@Body() form: ChangeForm): object {
    return { email: form.email, names: Object.keys(form) };
  }

  @Action('open-change', Access.anyone(), { audit: { none: 'a trial' } })
  openChange(@Body() body: object = {}): object {
    this.received.push(body);
    return { names: Object.keys(body) };
  }

  @Csv('table', Access.anyone(), 'trial')
  table(): CsvContent {
    return { columns: ['name', 'formula'], rows: [['a "b", c', '=1+1']], cappedAt: 1 };
  }

  @Csv('failing-table', Access.anyone(), 'trial')
  failingTable(): CsvContent {
    return { columns: ['name'], rows: failing(0) };
  }

  @Csv('breaking-table', Access.anyone(), 'trial')
  breakingTable(): CsvContent {
    return { columns: ['name'], rows: failing(50) };
  }

  static pulled = 0;
  static endless: Promise<void> | undefined;

  @Csv('endless-table', Access.anyone(), 'trial')
  endlessTable(): CsvContent {
    let ended: () => void = () => undefined;
    PortalTrial.endless = new Promise((resolve) => (ended = resolve));
    return { columns: ['text'], rows: endless(ended) };
  }

  @Redirects('old', '/trial/page', Access.anyone())
  old(): undefined {
    return undefined;
  }
}

function* failing(after: number): Generator<string[]> {
  for (let row = 0; row < after; row += 1) yield [`row ${row}`];
  throw new Error('a detail of ours');
}

async function* endless(ended: () => void): AsyncGenerator<string[]> {
  try {
    for (;;) {
      PortalTrial.pulled += 1;
      await new Promise(setImmediate);
      yield ['x'.repeat(16_384)];
    }
  } finally {
    ended();
  }
}

@Module({ imports: [WebModule], controllers: [GatewayTrial, PortalTrial] })
export class TrialModule {}
