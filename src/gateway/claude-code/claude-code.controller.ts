import { Controller, Get, Req } from '@nestjs/common';
import { fault } from '../../kernel';
import { Access, type HttpRequest } from '../../web';
import { callerOf } from '../intake';
import { ClaudeCodeBudgets } from './claude-code-budgets';

@Controller()
export class ClaudeCodeController {
  constructor(private readonly budgets: ClaudeCodeBudgets) {}

  @Get('/api/oauth/usage')
  @Access.eitherHeader()
  async usage(@Req() request: HttpRequest) {
    const usage = await this.budgets.usageOf(callerOf(request));
    if (usage === null) throw fault('not_found', { message: 'No budget limits this key.' });
    return usage;
  }
}
