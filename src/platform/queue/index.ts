export { InjectQueue, WorkerHost } from '@nestjs/bullmq';
export { type Job, Queue, UnrecoverableError } from 'bullmq';
export { addJob } from './jobs';
export { cronProblem } from './job-rows';
export { Processor } from './processor';
export { RepeatingJob } from './repeating-job';
export { RepeatingJobs, RepeatingJobsModule } from './repeating-jobs';
export { QueueModule } from './queue.module';
export { QueueSupervisor } from './queue-supervisor';
