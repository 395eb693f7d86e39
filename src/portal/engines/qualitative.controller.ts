import { Controller, Req } from '@nestjs/common';
import { PersonalSettings } from '../../identity';
import { Access, actorOf, type HttpRequest, Page } from '../../web';

/** Reports on how good answers are. This version judges nothing, and says so. */
@Controller()
export class QualitativeController {
  constructor(private readonly personal: PersonalSettings) {}

  @Page('/dashboard/qualitative', 'pages/dashboard/qualitative', Access.session())
  async show(@Req() request: HttpRequest): Promise<object> {
    return { isHelpClosed: await this.personal.isHelpClosed(actorOf(request).userId, 'qualitative') };
  }
}
