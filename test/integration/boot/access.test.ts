import { Controller, Get, Module, Post } from '@nestjs/common';
import { startTestApp } from '../../support/app';
import { Access, WebModule } from '#product/web';

class Inherited {
  @Get('inherited')
  inherited(): object {
    return {};
  }
}

@Controller('/v1/forgetful')
class ForgetfulController extends Inherited {
  @Get()
  @Access.anyone()
  declared(): object {
    return {};
  }

  @Post('open')
  open(): object {
    return {};
  }

  helper(): object {
    return {};
  }
}

@Controller('/careful')
@Access.rootKey()
class CarefulController {
  @Get()
  covered(): object {
    return {};
  }
}

@Module({ imports: [WebModule], controllers: [ForgetfulController, CarefulController] })
class ForgetfulModule {}

@Module({ imports: [WebModule], controllers: [CarefulController] })
class CarefulModule {}

test('a handler without an access declaration prevents the boot, which names every such handler', async () => {
  const start = startTestApp({ modules: [ForgetfulModule] });
  await expect(start).rejects.toThrow(
    'These handlers lack @Access: ForgetfulController.open, ForgetfulController.inherited',
  );
});

test('an access declaration of a controller applies to its handlers', async () => {
  const app = await startTestApp({ modules: [CarefulModule] });
  expect((await fetch(`${app.url}/careful`)).status).toBe(401);
  await app.close();
});
