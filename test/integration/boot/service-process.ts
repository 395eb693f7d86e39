import 'reflect-metadata';
import { Controller, Module } from '@nestjs/common';
import { runService } from '#inside/boot/run-service';
import { Access, Data, WebModule } from '#product/web';

/** Typical bugs: an unhandled rejection and an uncaught exception. */
@Controller('/trouble')
class TroubleController {
  @Data('rejection', Access.anyone())
  rejection(): object {
    void Promise.reject(new Error('a rejection that nobody knew of'));
    return { ok: true };
  }

  @Data('exception', Access.anyone())
  exception(): object {
    setImmediate(() => {
      throw new Error('an exception that nobody knew of');
    });
    return { ok: true };
  }

  /** A response proves that everything printed before has been read. */
  @Data('marker', Access.anyone())
  marker(): object {
    process.stdout.write('told everything\n');
    return { ok: true };
  }

  @Data('string', Access.anyone())
  string(): never {
    const words: unknown = 'just words';
    throw words;
  }
}

@Module({ imports: [WebModule], controllers: [TroubleController] })
class TroubleModule {}

void runService({ extraModules: [TroubleModule], sandboxUrl: process.argv[2] });
