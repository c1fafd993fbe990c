/** `petrel/testing`: tests of workflows, with a clock that is moved. */
export { openTestPetrel, type TestClock, type TestOptions, type TestPetrel } from './client/test-petrel.ts'
