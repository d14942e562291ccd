// within: 
// mode: link
int calls = 0;
//--- second.cc
int calls = 1;  // <- here
