import { Module } from '@nestjs/common';
import { AuditModule } from '../audit';
import { CatalogueModule } from '../catalogue';
import { GatewayModule } from '../gateway';
import { KeysModule } from '../keys';
import { QueueModule, SecretsModule } from '../platform';
import { RoutingModule } from '../routing';
import { SampleContent } from './content/sample-content';
import { Judge } from './judge/judge';
import { AutorouterModule } from '../autorouter';
import { AnswerFeedback } from './feedback/answer-feedback';
import { AnswerSignals } from './feedback/answer-signals';
import { EvaluationLedger } from './ledger/evaluation-ledger';
import { EVALUATION_QUEUE, EvaluationQueue } from './loop/evaluation-queue';
import { EvaluationMaintenance } from './loop/evaluation-maintenance';
import { EvaluationWorker } from './loop/evaluation-worker';
import { Evaluator } from './loop/evaluator';
import { Judges } from './loop/judges';
import { JudgeStep } from './loop/judge-step';
import { EndedSamples } from './loop/ended-samples';
import { LearnStep } from './loop/learn-step';
import { MergedEvaluation } from './loop/merged-evaluation';
import { ReplayStep } from './loop/replay-step';
import { RouterMemory } from './loop/router-memory';
import { Samples } from './loop/samples';
import { SampleTaker } from './sampling/sample-taker';
import { ScoreQuery } from './scores/score.query';
import { QualityPolicies } from './settings/quality-policies';
import { QualitySettingsStore } from './settings/quality-settings.store';

@Module({
  imports: [
    AuditModule,
    AutorouterModule,
    CatalogueModule,
    GatewayModule,
    KeysModule,
    RoutingModule,
    SecretsModule,
    QueueModule.registerQueue(EVALUATION_QUEUE),
  ],
  providers: [
    AnswerFeedback,
    AnswerSignals,
    EndedSamples,
    EvaluationLedger,
    EvaluationQueue,
    EvaluationMaintenance,
    EvaluationWorker,
    Evaluator,
    Judge,
    Judges,
    JudgeStep,
    LearnStep,
    MergedEvaluation,
    QualityPolicies,
    QualitySettingsStore,
    ReplayStep,
    RouterMemory,
    SampleContent,
    Samples,
    SampleTaker,
    ScoreQuery,
  ],
  exports: [AnswerFeedback, EndedSamples, EvaluationLedger, QualitySettingsStore, SampleContent, ScoreQuery],
})
export class QualityModule {}
